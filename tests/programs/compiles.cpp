// Compiles a kernel again and again while it runs, and does little else. The compiler has temporary
// files, which it closes, opens again and removes.
//
//   compiles ROUNDS [FILE]      FILE.rounds says otherwise, at any time
#include <hip/hiprtc.h>

#include <string>
#include <vector>

#include "check.h"

static bool compiled(unsigned variant, std::vector<char>& code) {
    std::string source = "extern \"C\" __global__ void step(unsigned* word) { *word = *word * 3 + " +
                         std::to_string(variant) + "; }";
    const char* options[] = {"--gpu-architecture=gfx906"};
    hiprtcProgram program;
    size_t size = 0;
    bool well = hiprtcCreateProgram(&program, source.c_str(), "step.hip", 0, nullptr, nullptr) == HIPRTC_SUCCESS &&
                hiprtcCompileProgram(program, 1, options) == HIPRTC_SUCCESS &&
                hiprtcGetCodeSize(program, &size) == HIPRTC_SUCCESS;
    code.resize(size);
    return well && hiprtcGetCode(program, code.data()) == HIPRTC_SUCCESS &&
           hiprtcDestroyProgram(&program) == HIPRTC_SUCCESS;
}

int main(int argc, char** argv) {
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 10;
    unsigned *word, result = 0;
    CHECK(hipMalloc(&word, sizeof *word));
    CHECK(hipMemset(word, 0, sizeof *word));
    for (unsigned round = 0; round < rounds_in_all(argc > 2 ? argv[2] : nullptr, rounds); ++round) {
        std::vector<char> code;
        if (!compiled(round, code)) {
            printf("round %u does not compile\n", round);
            return 1;
        }
        hipModule_t module;
        hipFunction_t step;
        CHECK(hipModuleLoadData(&module, code.data()));
        CHECK(hipModuleGetFunction(&step, module, "step"));
        void* arguments[] = {&word};
        CHECK(hipModuleLaunchKernel(step, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
        CHECK(hipMemcpy(&result, word, sizeof result, hipMemcpyDeviceToHost));
        CHECK(hipModuleUnload(module));
        printf("round %u %u\n", round, result);
        fflush(stdout);
    }
    say("end");
}

// Modules compiled while the program runs, loaded, launched with both forms of arguments, unloaded
// again; two of them have a kernel of the same name.
//
//   modules [ROUNDS]
#include <hip/hiprtc.h>

#include <string>
#include <vector>

#include "rounds.h"

constexpr unsigned kWords = 1 << 13;

static std::vector<char> compiled(unsigned variant) {
    std::string source = R"(
extern "C" __device__ unsigned state[64] = {1, 2, 3};
extern "C" __global__ void step(unsigned* words, unsigned n, unsigned round) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) words[i OFFSET] = words[i OFFSET] * FACTOR + round;
    if (i < 64) words[i] ^= state[i] += FACTOR;
})";
    std::string factor = "-DFACTOR=" + std::to_string(2 * variant + 3) + "u";
    std::string offset = variant ? "-DOFFSET=+8192" : "-DOFFSET=";
    const char* options[] = {"--gpu-architecture=gfx906", factor.c_str(), offset.c_str()};
    hiprtcProgram program;
    if (hiprtcCreateProgram(&program, source.c_str(), "step.hip", 0, nullptr, nullptr) ||
        hiprtcCompileProgram(program, 3, options)) {
        exit(1);
    }
    size_t size = 0;
    hiprtcGetCodeSize(program, &size);
    std::vector<char> code(size);
    hiprtcGetCode(program, code.data());
    hiprtcDestroyProgram(&program);
    return code;
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 60);
    unsigned* words = words_of(2 * kWords, 1);
    unsigned* idle = words_of(1 << 19, 7);
    std::vector<char> codes[2] = {compiled(0), compiled(1)};
    hipModule_t modules[2] = {};
    hipFunction_t functions[2] = {};
    for (unsigned round = 0; round < rounds; ++round) {
        unsigned m = mix(round) % 2;
        if (modules[m] && round % 5 == 0) {
            CHECK(hipModuleUnload(modules[m]));
            modules[m] = nullptr;
        }
        if (!modules[m]) {
            CHECK(hipModuleLoadData(&modules[m], codes[m].data()));
            CHECK(hipModuleGetFunction(&functions[m], modules[m], "step"));
        }
        unsigned n = kWords;
        if (round % 2) {
            void* arguments[] = {&words, &n, &round};
            CHECK(hipModuleLaunchKernel(functions[m], kWords / 256, 1, 1, 256, 1, 1, 0, nullptr,
                                        arguments, nullptr));
        } else {
            struct {
                unsigned* words;
                unsigned n, round;
            } buffer = {words, n, round};
            size_t size = sizeof(buffer);
            void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &buffer, HIP_LAUNCH_PARAM_BUFFER_SIZE,
                             &size, HIP_LAUNCH_PARAM_END};
            CHECK(hipModuleLaunchKernel(functions[m], kWords / 256, 1, 1, 256, 1, 1, 0, nullptr,
                                        nullptr, extra));
        }
        say_round(round, digest(words, 2 * kWords));
    }
    say_round(rounds, digest(idle, 1 << 19));
}

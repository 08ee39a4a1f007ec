// Ways to launch a kernel of one's own program.
//   ways link      the triple-chevron syntax, hipLaunchKernel, hipExtLaunchKernel
//   ways module    hipModuleLaunchKernel with pointers and with a buffer, hipExtModuleLaunchKernel
#include <hip/hip_ext.h>
#include <hip/hiprtc.h>

#include <cstring>
#include <string>
#include <vector>

#include "../check.h"

__global__ void add(unsigned* words, unsigned n, unsigned what) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) words[i] += what * i;
}

static const char* kSource = R"(
extern "C" __global__ void add(unsigned* words, unsigned n, unsigned what) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) words[i] += what * i;
})";

static constexpr unsigned kWords = 65;

static void by_link(unsigned* words) {
    unsigned n = kWords, what = 0;
    add<<<2, 64>>>(words, n, 1u);
    void* args[] = {&words, &n, &what};
    CHECK(hipLaunchKernel(reinterpret_cast<const void*>(add), dim3(2), dim3(64), args, 0, nullptr));
    hipExtLaunchKernelGGL(add, dim3(2), dim3(64), 0, nullptr, nullptr, nullptr, 0, words, n, 0u);
    CHECK(hipGetLastError());
}

static std::vector<char> compiled() {
    hiprtcProgram program;
    const char* options[] = {"--gpu-architecture=gfx906"};
    if (hiprtcCreateProgram(&program, kSource, "add.hip", 0, nullptr, nullptr) != HIPRTC_SUCCESS ||
        hiprtcCompileProgram(program, 1, options) != HIPRTC_SUCCESS) {
        fprintf(stderr, "ways: hiprtc does not compile the kernel\n");
        exit(1);
    }
    size_t size = 0;
    hiprtcGetCodeSize(program, &size);
    std::vector<char> code(size);
    hiprtcGetCode(program, code.data());
    hiprtcDestroyProgram(&program);
    return code;
}

static void by_module(unsigned* words) {
    std::vector<char> code = compiled();
    hipModule_t module;
    CHECK(hipModuleLoadData(&module, code.data()));
    // HIP has its own copy; so must whoever else wants to look at it later.
    memset(code.data(), 0, code.size());
    hipFunction_t function;
    CHECK(hipModuleGetFunction(&function, module, "add"));
    unsigned n = kWords, what = 1;
    void* args[] = {&words, &n, &what};
    CHECK(hipModuleLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, nullptr, args, nullptr));
    struct {
        unsigned* words;
        unsigned n, what;
    } buffer = {words, n, 0};
    size_t size = sizeof(buffer);
    void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &buffer, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     HIP_LAUNCH_PARAM_END};
    CHECK(hipModuleLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
    CHECK(hipExtModuleLaunchKernel(function, 128, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
    CHECK(hipDeviceSynchronize());
    CHECK(hipModuleUnload(module));
}

int main(int argc, char** argv) {
    bool module = argc > 1 && strcmp(argv[1], "module") == 0;
    unsigned* words;
    CHECK(hipMalloc(&words, kWords * sizeof(unsigned)));
    CHECK(hipMemset(words, 0, kWords * sizeof(unsigned)));
    module ? by_module(words) : by_link(words);
    std::vector<unsigned> got(kWords);
    CHECK(hipMemcpy(got.data(), words, kWords * sizeof(unsigned), hipMemcpyDeviceToHost));
    unsigned sum = 0;
    for (unsigned word : got) sum += word;
    printf("sum %u\n", sum);
    CHECK(hipFree(words));
}

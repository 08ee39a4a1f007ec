// One host stub, registered twice with code of its own each, as two libraries with the same inline
// template do. Prints which code a launch runs: before and after the first is unregistered, and when
// the stub is registered anew.
//   registered_twice [runs]     "runs" leaves out the launch that runs nothing
#include <hip/hiprtc.h>

#include <cstring>
#include <string>
#include <vector>

#include "../check.h"

extern "C" void** __hipRegisterFatBinary(const void* data);
extern "C" void __hipRegisterFunction(void** module, const void* stub, char* function,
                                      const char* name, unsigned limit, void* tid, void* bid,
                                      void* block, void* grid, int* wave);
extern "C" void __hipUnregisterFatBinary(void** module);

static std::string compiled(const char* which) {
    std::string source = "extern \"C\" __global__ void put(unsigned* first, unsigned* second) { *" +
                         std::string(which) + " = 1; }";
    hiprtcProgram program;
    const char* options[] = {"--gpu-architecture=gfx906"};
    if (hiprtcCreateProgram(&program, source.c_str(), "put.hip", 0, nullptr, nullptr) ||
        hiprtcCompileProgram(program, 1, options)) {
        fprintf(stderr, "registered_twice: hiprtc does not compile the kernel\n");
        exit(1);
    }
    size_t size = 0;
    hiprtcGetCodeSize(program, &size);
    std::string code(size, '\0');
    hiprtcGetCode(program, &code[0]);
    hiprtcDestroyProgram(&program);
    if (!code.compare(0, 24, "__CLANG_OFFLOAD_BUNDLE__")) return code;
    // A bundle of the object and of nothing for the host: magic, count, then offset, size and length
    // of the target's name, and the name.
    const std::string names[] = {"host-x86_64-unknown-linux",
                                 "hipv4-amdgcn-amd-amdhsa--gfx906"};
    std::string head = "__CLANG_OFFLOAD_BUNDLE__";
    auto number = [&](unsigned long long n) { head.append(reinterpret_cast<char*>(&n), 8); };
    number(2);
    number(4096), number(0), number(names[0].size()), head += names[0];
    number(4096), number(code.size()), number(names[1].size()), head += names[1];
    head.resize(4096);
    return head + code;
}

struct Wrapper {
    unsigned magic, version;
    const void* bundle;
    const void* reserved;
};

static void stub() {}

static void** registered(Wrapper& wrapper) {
    void** module = __hipRegisterFatBinary(&wrapper);
    static char name[] = "put";
    __hipRegisterFunction(module, reinterpret_cast<void*>(stub), name, name, -1, nullptr, nullptr,
                          nullptr, nullptr, nullptr);
    return module;
}

static unsigned* words;

static void launch() {
    CHECK(hipMemset(words, 0, 512));
    unsigned *first = words, *second = words + 64;
    void* args[] = {&first, &second};
    hipError_t status = hipLaunchKernel(reinterpret_cast<void*>(stub), dim3(1), dim3(1), args, 0, nullptr);
    (void)hipGetLastError();
    unsigned got[65];
    CHECK(hipMemcpy(got, words, sizeof(got), hipMemcpyDeviceToHost));
    printf(" %s", status != hipSuccess ? "nothing" : got[0] ? "first" : got[64] ? "second" : "?");
}

int main(int argc, char**) {
    bool all = argc == 1;
    CHECK(hipMalloc(&words, 512));
    std::string code[] = {compiled("first"), compiled("second")};
    // A bundle lies at the start of a page.
    void* pages[2];
    for (int i = 0; i < 2; ++i) {
        if (posix_memalign(&pages[i], 4096, code[i].size())) return 1;
        memcpy(pages[i], code[i].data(), code[i].size());
    }
    Wrapper first = {0x48495046, 1, pages[0], nullptr}, second = {0x48495046, 1, pages[1], nullptr};
    void** modules[] = {registered(first), registered(second)};
    printf("runs");
    launch();
    __hipUnregisterFatBinary(modules[0]);
    if (all) launch();
    void** again = registered(second);
    launch();
    printf("\n");
    __hipUnregisterFatBinary(modules[1]);
    __hipUnregisterFatBinary(again);
    CHECK(hipFree(words));
}

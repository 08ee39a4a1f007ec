// Reaches HIP by dlopen, dlsym and dlvsym; nothing links libamdhip64 for its sake.
//   looked_up local | global | deepbind     launches two kernels
//   looked_up missing                       looks up what this HIP does not have
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

static void* library;

template <typename F>
static F find(const char* name, const char* version = nullptr) {
    void* f = version ? dlvsym(library, name, version) : dlsym(library, name);
    if (!f) {
        fprintf(stderr, "looked_up: %s\n", dlerror());
        exit(1);
    }
    return reinterpret_cast<F>(f);
}

static void must(int status) {
    if (status) {
        fprintf(stderr, "looked_up: HIP says %d\n", status);
        exit(1);
    }
}

static const char* kSource = R"(
extern "C" __global__ void add(unsigned* words, unsigned n, unsigned what) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) words[i] += what * i;
})";

static std::vector<char> compiled() {
    void* program = nullptr;
    const char* options[] = {"--gpu-architecture=gfx906"};
    must(find<int (*)(void**, const char*, const char*, int, const char**, const char**)>(
        "hiprtcCreateProgram")(&program, kSource, "add.hip", 0, nullptr, nullptr));
    must(find<int (*)(void*, int, const char**)>("hiprtcCompileProgram")(program, 1, options));
    size_t size = 0;
    must(find<int (*)(void*, size_t*)>("hiprtcGetCodeSize")(program, &size));
    std::vector<char> code(size);
    must(find<int (*)(void*, char*)>("hiprtcGetCode")(program, code.data()));
    return code;
}

int main(int argc, char** argv) {
    const char* how = argc > 1 ? argv[1] : "local";
    int flags = RTLD_NOW;
    if (!strcmp(how, "global")) flags |= RTLD_GLOBAL;
    if (!strcmp(how, "deepbind")) flags |= RTLD_DEEPBIND;
    library = dlopen("libamdhip64.so.5", flags);
    if (!library) {
        fprintf(stderr, "looked_up: %s\n", dlerror());
        return 1;
    }
    if (!strcmp(how, "missing")) {
        printf("missing:");
        for (const char* name : {"hipGetProcAddress", "hipMalloc", "hipNoSuchFunction"}) {
            if (!dlsym(library, name) && dlerror()) printf(" %s", name);
        }
        printf("\n");
        return 0;
    }
    unsigned* words;
    unsigned n = 65, what = 1;
    must(find<int (*)(void**, size_t)>("hipMalloc")(reinterpret_cast<void**>(&words), n * 4));
    must(find<int (*)(void*, int, size_t)>("hipMemset", "hip_4.2")(words, 0, n * 4));
    std::vector<char> code = compiled();
    void *module, *function;
    must(find<int (*)(void**, const void*)>("hipModuleLoadData")(&module, code.data()));
    must(find<int (*)(void**, void*, const char*)>("hipModuleGetFunction")(&function, module,
                                                                           "add"));
    void* args[] = {&words, &n, &what};
    using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                           unsigned, void*, void**, void**);
    must(find<Launch>("hipModuleLaunchKernel")(function, 2, 1, 1, 64, 1, 1, 0, nullptr, args,
                                               nullptr));
    what = 0;
    must(find<Launch>("hipModuleLaunchKernel", "hip_4.2")(function, 2, 1, 1, 64, 1, 1, 0, nullptr,
                                                          args, nullptr));
    std::vector<unsigned> got(n);
    must(find<int (*)(void*, const void*, size_t, int)>("hipMemcpy")(got.data(), words, n * 4, 2));
    unsigned sum = 0;
    for (unsigned word : got) sum += word;
    printf("sum %u\n", sum);
    must(find<int (*)(void*)>("hipFree")(words));
}

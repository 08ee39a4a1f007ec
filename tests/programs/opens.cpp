// Reaches HIP by dlopen and dlsym only: nothing links libamdhip64. With an argument, its symbols
// are bound past anything preloaded (RTLD_DEEPBIND), as some frameworks do.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

template <typename F>
static F find(void* library, const char* name) {
    void* f = dlsym(library, name);
    if (!f) {
        fprintf(stderr, "opens: %s\n", dlerror());
        exit(1);
    }
    return reinterpret_cast<F>(f);
}

int main(int argc, char**) {
    int flags = RTLD_NOW | RTLD_LOCAL | (argc > 1 ? RTLD_DEEPBIND : 0);
    void* library = dlopen("libamdhip64.so.5", flags);
    if (!library) {
        fprintf(stderr, "opens: %s\n", dlerror());
        return 1;
    }
    auto allocate = find<int (*)(void**, size_t)>(library, "hipMalloc");
    auto fill = find<int (*)(void*, int, size_t)>(library, "hipMemset");
    auto copy = find<int (*)(void*, const void*, size_t, int)>(library, "hipMemcpy");
    auto release = find<int (*)(void*)>(library, "hipFree");
    void* memory = nullptr;
    unsigned char got[4096] = {};
    int errors = allocate(&memory, sizeof(got));
    errors |= fill(memory, 0x5a, sizeof(got));
    errors |= copy(got, memory, sizeof(got), 2);
    errors |= release(memory);
    int bad = 0;
    for (unsigned char byte : got) bad += byte != 0x5a;
    printf("opens errors=%d bad=%d\n", errors, bad);
    return errors != 0 || bad != 0;
}

/* A program for a newer HIP: a function that no list names is looked up, called, or linked to.
 *   newer looked-up | called | listed      (compiled with LINKED: newer) */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int hipTomorrow(int x);

int main(int argc, char** argv) {
    const char* what = argc > 1 ? argv[1] : "linked";
    int (*tomorrow)(int) = 0;
#ifdef LINKED
    tomorrow = hipTomorrow;
#endif
    void* library = dlopen("libamdhip64.so.6", RTLD_NOW);
    void* today = dlopen("libamdhip64.so.5", RTLD_NOW);
    if (!library || !today) return fprintf(stderr, "newer: %s\n", dlerror()), 1;
    if (!strcmp(what, "looked-up") || !strcmp(what, "called")) {
        tomorrow = (int (*)(int))dlsym(library, "hipTomorrow");
        if (!tomorrow || dlsym(library, "hipYesterday")) return 1;
        if (dlsym(library, "hipTomorrow") != (void*)tomorrow) return 1;
    }
    if (!strcmp(what, "called") && tomorrow(41) != 42) return 1;
    int (*allocate)(void**, size_t) = (int (*)(void**, size_t))dlsym(today, "hipMalloc");
    int (*synchronize)(void) = (int (*)(void))dlsym(today, "hipDeviceSynchronize");
    void* memory;
    if (!allocate || !synchronize || allocate(&memory, 4096)) return 1;
    puts("ready");
    fflush(stdout);
    for (;;) {
        if (synchronize()) return 1;
        usleep(20000);
    }
}

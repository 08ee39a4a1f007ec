/* Which functions a library has, as a program finds out: through all that is loaded, and by symbol version.
 *   probes LIBRARY VERSION NAME... */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
    if (argc < 3 || !dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL)) return fprintf(stderr, "probes: %s\n", dlerror()), 1;
    for (int i = 3; i < argc; ++i) {
        void* found = dlsym(RTLD_DEFAULT, argv[i]);
        const char* error = dlerror();
        void* versioned = dlvsym(RTLD_DEFAULT, argv[i], argv[2]);
        dlerror();
        printf("%s %s %s %s\n", argv[i], found ? "there" : "absent", error ? "said" : "quiet", versioned ? "there" : "absent");
    }
}

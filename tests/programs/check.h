// What every test program needs: a HIP call that fails ends the program by name.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                       \
    do {                                                                  \
        hipError_t error_ = (call);                                       \
        if (error_ != hipSuccess) {                                       \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
                    hipGetErrorName(error_));                             \
            exit(1);                                                      \
        }                                                                 \
    } while (0)

// One line that a test waits for.
inline void say(const char* line) {
    puts(line);
    fflush(stdout);
}

// How many rounds a program makes: as many as it was told, or as FILE.rounds says, which may come
// while it runs. So a test need not guess how long something takes, nor wait for rounds it has no
// use for.
inline unsigned rounds_in_all(const char* file, unsigned told) {
    if (!file) return told;
    char path[4096];
    snprintf(path, sizeof path, "%s.rounds", file);
    FILE* asked = fopen(path, "r");
    if (!asked) return told;
    if (fscanf(asked, "%u", &told) != 1) exit(1);
    fclose(asked);
    return told;
}

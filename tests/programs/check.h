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

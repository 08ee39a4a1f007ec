// Wants most of the device's memory when it is told to (SIGUSR1), and says what it got. Free memory
// must not seem to change before that.
//
//   takes MEGABYTES MORE     says "ready"; then "got" or "none", and "changed" if memory went away
#include <csignal>
#include <unistd.h>

#include "check.h"

static volatile sig_atomic_t wanted = 0;

__global__ void fill(unsigned* words, size_t n) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        words[i] = (unsigned)i * 2654435761u;
    }
}

static size_t free_memory() {
    size_t free, total;
    CHECK(hipMemGetInfo(&free, &total));
    return free;
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    size_t bytes = strtoul(argv[1], nullptr, 10) << 20;
    size_t more = strtoul(argv[2], nullptr, 10) << 20;
    signal(SIGUSR1, [](int) { wanted = 1; });
    unsigned *words, *further;
    CHECK(hipMalloc(&words, bytes));
    fill<<<16, 256>>>(words, bytes / sizeof(unsigned));
    CHECK(hipDeviceSynchronize());
    size_t free = free_memory();
    say("ready");
    bool changed = false;
    while (!wanted) {
        usleep(1000);
        changed |= free_memory() != free;
    }
    if (changed) say("changed");
    hipError_t error = hipMalloc(&further, more);
    if (error == hipSuccess) {
        fill<<<16, 256>>>(further, more / sizeof(unsigned));
        CHECK(hipDeviceSynchronize());
    }
    say(error == hipSuccess ? "got" : "none");
    while (true) usleep(10000);
}

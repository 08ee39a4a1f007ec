// Holds device memory: fills it with a pattern of its own, waits for SIGTERM and looks whether it is
// still there.
//
//   holds MEGABYTES SEED [HOST]   says "holding ADDRESS", then "kept" or "lost"; "full" if there is no room.
//                                 HOST megabytes of host memory are held likewise
#include <csignal>
#include <cstdlib>
#include <unistd.h>

#include <vector>

#include "check.h"

static volatile sig_atomic_t stop = 0;

__global__ void fill(unsigned* words, size_t n, unsigned seed) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        words[i] = (unsigned)i * 2654435761u ^ seed;
    }
}

__global__ void compare(const unsigned* words, size_t n, unsigned seed, unsigned* differ) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (words[i] != ((unsigned)i * 2654435761u ^ seed)) atomicAdd(differ, 1u);
    }
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    size_t n = (strtoul(argv[1], nullptr, 10) << 20) / sizeof(unsigned);
    unsigned seed = strtoul(argv[2], nullptr, 10);
    signal(SIGTERM, [](int) { stop = 1; });
    std::vector<unsigned> host((argc > 3 ? strtoul(argv[3], nullptr, 10) << 20 : 0) / sizeof(unsigned));
    for (size_t i = 0; i < host.size(); ++i) host[i] = (unsigned)i * 2246822519u ^ seed;
    unsigned *words, *differ;
    CHECK(hipMalloc(&differ, sizeof(unsigned)));
    CHECK(hipMemset(differ, 0, sizeof(unsigned)));
    hipError_t error = hipMalloc(&words, n * sizeof(unsigned));
    if (error == hipErrorOutOfMemory) {
        say("full");
        return 3;
    }
    CHECK(error);
    fill<<<16, 256>>>(words, n, seed);
    CHECK(hipDeviceSynchronize());
    printf("holding %p\n", (void*)words);
    fflush(stdout);
    while (!stop) usleep(10000);
    compare<<<16, 256>>>(words, n, seed, differ);
    unsigned wrong = 0;
    CHECK(hipMemcpy(&wrong, differ, sizeof(wrong), hipMemcpyDeviceToHost));
    for (size_t i = 0; i < host.size(); ++i) wrong += host[i] != ((unsigned)i * 2246822519u ^ seed);
    say(wrong == 0 ? "kept" : "lost");
    return wrong != 0;
}

// cancelled ROUNDS: cancels one thread after the other that launches kernels and waits for them.
#include <pthread.h>
#include <unistd.h>

#include "check.h"

static const unsigned LENGTH = 2 << 20;
static unsigned* memory;
static hipStream_t stream;

__global__ void count(unsigned* memory) {
    for (unsigned i = threadIdx.x + blockIdx.x * blockDim.x; i < LENGTH; i += blockDim.x * gridDim.x) ++memory[i];
}

static void* work(void*) {
    for (;;) {
        count<<<64, 64, 0, stream>>>(memory);
        if (hipStreamSynchronize(stream) != hipSuccess) _exit(3);
        usleep(500);
    }
}

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    CHECK(hipMalloc(&memory, LENGTH * sizeof(unsigned)));
    CHECK(hipMemset(memory, 0, LENGTH * sizeof(unsigned)));
    CHECK(hipStreamCreate(&stream));
    for (int round = 0; round < atoi(argv[1]); ++round) {
        pthread_t thread;
        if (pthread_create(&thread, nullptr, work, nullptr)) return 2;
        usleep(15000);
        void* result;
        if (pthread_cancel(thread) || pthread_join(thread, &result)) return 2;
        if (result != PTHREAD_CANCELED) return 4;
        if (round == 5) say("ready");
    }
    CHECK(hipDeviceSynchronize());
    return 7;
}

// Kernels that call through pointers to functions, from a table in device memory that a kernel
// rearranges, and virtual functions of objects that live on the device.
//
//   indirect [ROUNDS]
#include "rounds.h"

constexpr unsigned kWords = 1 << 13;

typedef void (*Step)(unsigned* words, unsigned i, unsigned round);

__device__ __attribute__((noinline)) void add(unsigned* words, unsigned i, unsigned round) {
    words[i] += mix(i + round);
}
__device__ __attribute__((noinline)) void swap(unsigned* words, unsigned i, unsigned round) {
    unsigned j = i ^ 1;
    if (i < j) {
        unsigned kept = words[i];
        words[i] = words[j] + round;
        words[j] = kept;
    }
}
__device__ __attribute__((noinline)) void far(unsigned* words, unsigned i, unsigned round) {
    words[kWords + (i * 7) % kWords] ^= round * i;
}

__device__ Step steps[3];

__global__ void prepare() {
    steps[0] = add;
    steps[1] = swap;
    steps[2] = far;
}

__global__ void rearrange() {
    Step first = steps[0];
    steps[0] = steps[1];
    steps[1] = steps[2];
    steps[2] = first;
}

__global__ void walk(unsigned* words, unsigned round) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned s = 0; s < 2; ++s) steps[(round + s) % 3](words, i, round);
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 60);
    unsigned* words = words_of(2 * kWords, 1);
    unsigned* idle = words_of(1 << 19, 3);
    prepare<<<1, 1>>>();
    for (unsigned round = 0; round < rounds; ++round) {
        walk<<<kWords / 256, 256>>>(words, round);
        if (round % 4 == 3) rearrange<<<1, 1>>>();
        CHECK(hipGetLastError());
        say_round(round, digest(words, 2 * kWords));
    }
    say_round(rounds, digest(words, 2 * kWords) + 3 * digest(idle, 1 << 19));
}

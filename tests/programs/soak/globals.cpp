// Variables of the program on the device, written by kernels and through their symbols, and a
// pointer in one of them.
//
//   globals [ROUNDS]
#include "rounds.h"

constexpr unsigned kWords = 1 << 12;

__device__ unsigned counters[kWords];
__constant__ unsigned table[64];
__device__ unsigned* target;
__managed__ unsigned shared_word = 5;

__global__ void step(unsigned round) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    counters[i] = counters[i] * 3 + table[i % 64] + round;
    target[i] += counters[i];
    if (i == 0) shared_word += round;
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 80);
    unsigned* words[2] = {words_of(1 << 18, 1), words_of(1 << 18, 2)};
    unsigned host[64];
    for (unsigned round = 0; round < rounds; ++round) {
        for (unsigned i = 0; i < 64; ++i) host[i] = mix(i + round);
        CHECK(hipMemcpyToSymbol(HIP_SYMBOL(table), host, sizeof(host)));
        unsigned* now = words[round % 2] + mix(round) % ((1 << 18) - kWords);
        CHECK(hipMemcpyToSymbol(HIP_SYMBOL(target), &now, sizeof(now)));
        step<<<kWords / 256, 256>>>(round);
        CHECK(hipGetLastError());
        CHECK(hipDeviceSynchronize());
        shared_word += 1;
        void* address;
        CHECK(hipGetSymbolAddress(&address, HIP_SYMBOL(counters)));
        CHECK(hipMemset(static_cast<char*>(address) + 64 * (round % 60), round, 32));
        say_round(round, digest(static_cast<unsigned*>(address), kWords) + shared_word);
    }
    say_round(rounds, digest(words[0], 1 << 18) + 3 * digest(words[1], 1 << 18));
}

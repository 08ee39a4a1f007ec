// Work in LDS: sorting blocks, static and dynamic sizes, barriers and lanes that talk to each other.
//
//   local [ROUNDS]
#include "rounds.h"

constexpr unsigned kBlock = 256;
constexpr unsigned kBlocks = 16;

__global__ void sort_blocks(unsigned* words) {
    __shared__ unsigned mine[2 * kBlock];
    unsigned* block = words + blockIdx.x * 2 * kBlock;
    mine[threadIdx.x] = block[threadIdx.x];
    mine[threadIdx.x + kBlock] = block[threadIdx.x + kBlock];
    for (unsigned size = 2; size <= 2 * kBlock; size *= 2) {
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            unsigned at = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            bool up = (threadIdx.x & (size / 2)) == 0;
            unsigned a = mine[at], b = mine[at + stride];
            if ((a > b) == up) {
                mine[at] = b;
                mine[at + stride] = a;
            }
        }
    }
    __syncthreads();
    block[threadIdx.x] = mine[threadIdx.x];
    block[threadIdx.x + kBlock] = mine[threadIdx.x + kBlock];
}

__global__ void scan(unsigned* words, unsigned n) {
    extern __shared__ unsigned sums[];
    unsigned value = words[blockIdx.x * n + threadIdx.x];
    for (unsigned by = 1; by < 64; by *= 2) {
        unsigned other = __shfl_up(value, by);
        if (threadIdx.x % 64 >= by) value += other;
    }
    if (threadIdx.x % 64 == 63) sums[threadIdx.x / 64] = value;
    __syncthreads();
    for (unsigned w = 0; w < threadIdx.x / 64; ++w) value += sums[w];
    words[blockIdx.x * n + threadIdx.x] = mix(value);
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 50);
    unsigned n = kBlocks * 2 * kBlock;
    unsigned* words = words_of(n, 1);
    unsigned* idle = words_of(1 << 19, 3);
    for (unsigned round = 0; round < rounds; ++round) {
        sort_blocks<<<kBlocks, kBlock>>>(words);
        scan<<<kBlocks, kBlock, (kBlock / 64) * 4>>>(words, 2 * kBlock);
        advance_words<<<1, 64>>>(idle + mix(round) % (1 << 18), 4096, round);
        CHECK(hipGetLastError());
        say_round(round, digest(words, n));
    }
    say_round(rounds, digest(words, n) + 3 * digest(idle, 1 << 19));
}

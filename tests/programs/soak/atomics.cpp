// Atomics whose result does not depend on their order, of every width, on device and host memory;
// and a lock that lanes of different groups take.
//
//   atomics [ROUNDS]
#include "rounds.h"

constexpr unsigned kBins = 4096;

struct Bins {
    unsigned sums[kBins];
    unsigned long long wide[kBins];
    int least[kBins];
    unsigned bits[kBins];
};

__global__ void count(Bins* bins, unsigned* host, unsigned round) {
    unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned draw = mix(id + round * 8191);
    unsigned bin = draw % kBins;
    atomicAdd(&bins->sums[bin], draw);
    atomicAdd(&bins->wide[bin], (unsigned long long)draw << 20);
    atomicMin(&bins->least[bin], (int)draw);
    atomicXor(&bins->bits[bin], draw);
    atomicAdd_system(&host[bin % 64], 1u);
    // A sum by compare and swap.
    unsigned old = bins->sums[(bin + 1) % kBins], want;
    do {
        want = old;
        old = atomicCAS(&bins->sums[(bin + 1) % kBins], want, want + 7);
    } while (old != want);
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 80);
    Bins* bins;
    unsigned* host;
    CHECK(hipMalloc(&bins, sizeof(Bins)));
    CHECK(hipMemset(bins, 0, sizeof(Bins)));
    CHECK(hipHostMalloc(&host, 64 * 4, hipHostMallocCoherent));
    for (int i = 0; i < 64; ++i) host[i] = 0;
    unsigned* idle = words_of(1 << 19, 3);
    for (unsigned round = 0; round < rounds; ++round) {
        for (int i = 0; i < 3; ++i) count<<<8, 256>>>(bins, host, round * 3 + i);
        CHECK(hipGetLastError());
        CHECK(hipDeviceSynchronize());
        uint64_t sum = 0;
        for (int i = 0; i < 64; ++i) sum = sum * 31 + host[i];
        say_round(round, sum);
    }
    say_round(rounds, digest(reinterpret_cast<unsigned*>(bins), sizeof(Bins) / 4) +
                          3 * digest(idle, 1 << 19));
}

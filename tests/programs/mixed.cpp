// Streams, events, LDS, 64-bit atomics, a table of pointers, a device global and memory that
// comes and goes. Every round checks what the device holds against the host's own model.
//
//   mixed ROUNDS [LOG [REST]]   one line a round, "round N sum S", to LOG or stdout; after each the
//                               GPU has nothing to do for REST ms
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "check.h"

constexpr int kBuffers = 6;
constexpr int kWords = 1 << 16;
constexpr int kBins = 64;

__device__ unsigned long long rounds_done;

__global__ void advance(unsigned* const* table, unsigned round) {
    unsigned* words = table[blockIdx.y];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kWords; i += gridDim.x * blockDim.x) {
        words[i] = words[i] * 1664525u + blockIdx.y + round;
    }
}

__global__ void histogram(const unsigned* words, unsigned long long* bins) {
    __shared__ unsigned long long local[kBins];
    if (threadIdx.x < kBins) local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kWords; i += gridDim.x * blockDim.x) {
        atomicAdd(&local[words[i] >> 26], 1ull + words[i] % 7);
    }
    __syncthreads();
    if (threadIdx.x < kBins) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

__global__ void finish_round() { rounds_done += 1; }

int main(int argc, char** argv) {
    unsigned rounds = argc > 1 ? strtoul(argv[1], nullptr, 10) : 10;
    FILE* log = argc > 2 ? fopen(argv[2], "w") : stdout;
    useconds_t rest = argc > 3 ? 1000 * atoi(argv[3]) : 0;
    if (!log) {
        perror(argv[2]);
        return 1;
    }
    std::vector<std::vector<unsigned>> model(kBuffers, std::vector<unsigned>(kWords));
    std::vector<unsigned*> pointers(kBuffers);
    for (int b = 0; b < kBuffers; ++b) {
        for (int i = 0; i < kWords; ++i) model[b][i] = b * 7919u + i;
        CHECK(hipMalloc(&pointers[b], kWords * sizeof(unsigned)));
        CHECK(hipMemcpy(pointers[b], model[b].data(), kWords * sizeof(unsigned),
                        hipMemcpyHostToDevice));
    }
    unsigned** table;
    CHECK(hipMalloc(&table, kBuffers * sizeof(unsigned*)));
    CHECK(hipMemcpy(table, pointers.data(), kBuffers * sizeof(unsigned*), hipMemcpyHostToDevice));
    hipStream_t work, count;
    hipEvent_t advanced;
    CHECK(hipStreamCreate(&work));
    CHECK(hipStreamCreateWithFlags(&count, hipStreamNonBlocking));
    CHECK(hipEventCreate(&advanced));
    unsigned long long* host_bins;
    CHECK(hipHostMalloc(&host_bins, kBins * sizeof(unsigned long long), 0));
    for (unsigned round = 0; round < rounds; ++round) {
        unsigned long long* bins;
        CHECK(hipMalloc(&bins, kBins * sizeof(unsigned long long)));
        CHECK(hipMemset(bins, 0, kBins * sizeof(unsigned long long)));
        CHECK(hipDeviceSynchronize());
        advance<<<dim3(4, kBuffers), 256, 0, work>>>(table, round);
        CHECK(hipEventRecord(advanced, work));
        CHECK(hipStreamWaitEvent(count, advanced, 0));
        for (int b = 0; b < kBuffers; ++b) histogram<<<2, 256, 0, count>>>(pointers[b], bins);
        finish_round<<<1, 1, 0, work>>>();
        CHECK(hipMemcpyAsync(host_bins, bins, kBins * sizeof(unsigned long long),
                             hipMemcpyDeviceToHost, count));
        CHECK(hipStreamSynchronize(count));
        CHECK(hipStreamSynchronize(work));
        std::vector<unsigned long long> want(kBins);
        for (int b = 0; b < kBuffers; ++b) {
            for (unsigned& word : model[b]) {
                word = word * 1664525u + b + round;
                want[word >> 26] += 1 + word % 7;
            }
        }
        unsigned long long sum = 0;
        for (int i = 0; i < kBins; ++i) {
            if (host_bins[i] != want[i]) {
                fprintf(log, "round %u bin %d wrong\n", round, i);
                return 1;
            }
            sum += want[i] * (i + 1);
        }
        fprintf(log, "round %u sum %llu\n", round, sum);
        fflush(log);
        CHECK(hipFree(bins));
        usleep(rest);
        rounds = rounds_in_all(argc > 2 ? argv[2] : nullptr, rounds);
    }
    unsigned long long done = 0;
    CHECK(hipMemcpyFromSymbol(&done, HIP_SYMBOL(rounds_done), sizeof(done)));
    fprintf(log, "end rounds %llu\n", done);
    fflush(log);
    return done != rounds;
}

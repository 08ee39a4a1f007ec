// What the programs of the soak share: memory filled from a seed, a digest of it that says where a
// word is, and one line a round, the same in every run.
#pragma once

#include <unistd.h>

#include <cstdint>

#include "../check.h"

__host__ __device__ inline unsigned mix(unsigned value) {
    value = (value ^ (value >> 16)) * 0x45d9f3bu;
    value = (value ^ (value >> 16)) * 0x45d9f3bu;
    return value ^ (value >> 16);
}

static __global__ void fill_words(unsigned* words, unsigned n, unsigned seed) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        words[i] = mix(i + seed);
    }
}

// Each word once more through the mill: words[i] depends on all rounds so far.
static __global__ void advance_words(unsigned* words, unsigned n, unsigned round) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        words[i] = words[i] * 1664525u + mix(i ^ round);
    }
}

static __global__ void sum_words(const unsigned* words, unsigned n, unsigned long long* sum) {
    unsigned long long mine = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        mine += (unsigned long long)(words[i] ^ i) * (2 * i + 1);
    }
    atomicAdd(sum, mine);
}

// What `words` holds; waits for `stream` only.
inline uint64_t digest(const unsigned* words, unsigned n, hipStream_t stream = nullptr) {
    unsigned long long *sum, result = 0;
    CHECK(hipMalloc(&sum, sizeof(*sum)));
    CHECK(hipMemsetAsync(sum, 0, sizeof(*sum), stream));
    sum_words<<<8, 256, 0, stream>>>(words, n, sum);
    CHECK(hipGetLastError());
    CHECK(hipMemcpyAsync(&result, sum, sizeof(result), hipMemcpyDeviceToHost, stream));
    CHECK(hipStreamSynchronize(stream));
    CHECK(hipFree(sum));
    return result;
}

inline unsigned* words_of(unsigned n, unsigned seed) {
    unsigned* words;
    CHECK(hipMalloc(&words, n * sizeof(unsigned)));
    fill_words<<<16, 256>>>(words, n, seed);
    CHECK(hipDeviceSynchronize());
    return words;
}

// The line of a round. Some time passes after it without use of the CPU, so that a run is longer
// than the start of a checkpoint, also where several programs share a machine.
inline void say_round(unsigned round, uint64_t value) {
    printf("round %u %016llx\n", round, (unsigned long long)value);
    fflush(stdout);
    usleep(mix(round) % 60000);
}

inline unsigned rounds_of(int argc, char** argv, unsigned otherwise) {
    return argc > 1 ? strtoul(argv[1], nullptr, 10) : otherwise;
}

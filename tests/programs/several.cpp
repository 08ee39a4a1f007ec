// Rounds on all GPUs, which need one another: each changes its words, adds what it reads in the memory
// of the next one by a kernel (without access: from a copy), hands a part on by a copy, and counts in memory of
// the host that all of them see. Every round checks what the GPUs hold against the host's own model.
//
//   several ROUNDS [LOG [REST]]   one line a round, "round N sum S", to LOG or stdout; after each the
//                                 GPUs have nothing to do for REST ms
#include <unistd.h>

#include <vector>

#include "check.h"

constexpr unsigned kWords = 100003;
constexpr unsigned kPart = 4099;
constexpr unsigned kGroups = (kWords + 255) / 256;

__device__ unsigned rounds_done;

__global__ void advance(unsigned* words, unsigned add) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kWords) words[i] = words[i] * 1664525u + add;
    if (i == 0) ++rounds_done;
}

__global__ void mix(unsigned* sums, const unsigned* words, const unsigned* others, unsigned* seen) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kWords) sums[i] = words[i] + 3 * others[kWords - 1 - i];
    if (i == 0) *seen += rounds_done;
}

struct Gpu {
    unsigned *words, *sums, *copy;
    hipStream_t stream;
    hipEvent_t advanced;
    bool reaches_next;
    std::vector<unsigned> model, model_sums;
};

int main(int argc, char** argv) {
    unsigned rounds = argc > 1 ? strtoul(argv[1], nullptr, 10) : 10;
    const char* path = argc > 2 ? argv[2] : nullptr;
    FILE* log = path ? fopen(path, "w") : stdout;
    useconds_t rest = argc > 3 ? 1000 * atoi(argv[3]) : 0;
    if (!log) {
        perror(argv[2]);
        return 1;
    }
    int count;
    CHECK(hipGetDeviceCount(&count));
    std::vector<Gpu> gpus(count);
    unsigned* seen;
    CHECK(hipHostMalloc(&seen, count * sizeof *seen, hipHostMallocPortable | hipHostMallocMapped));
    for (int d = 0; d < count; ++d) {
        Gpu& gpu = gpus[d];
        seen[d] = 0;
        CHECK(hipSetDevice(d));
        int can = 0, next = (d + 1) % count;
        if (next != d) CHECK(hipDeviceCanAccessPeer(&can, d, next));
        if (can) CHECK(hipDeviceEnablePeerAccess(next, 0));
        gpu.reaches_next = can || next == d;
        // One GPU has memory that the others do not have: what is where must not depend on it.
        void* unused;
        for (int i = 0; i <= d; ++i) CHECK(hipMalloc(&unused, 3u << 20));
        CHECK(hipMalloc(&gpu.words, kWords * sizeof(unsigned)));
        CHECK(hipMalloc(&gpu.sums, kWords * sizeof(unsigned)));
        CHECK(hipMalloc(&gpu.copy, kWords * sizeof(unsigned)));
        CHECK(hipStreamCreate(&gpu.stream));
        CHECK(hipEventCreateWithFlags(&gpu.advanced, hipEventDisableTiming));
        gpu.model.resize(kWords);
        gpu.model_sums.resize(kWords);
        for (unsigned i = 0; i < kWords; ++i) gpu.model[i] = d * 7919u + i;
        CHECK(hipMemcpy(gpu.words, gpu.model.data(), kWords * sizeof(unsigned),
                        hipMemcpyHostToDevice));
    }
    std::vector<unsigned> is(kWords);
    unsigned wanted_seen = 0;
    for (unsigned round = 0; round < rounds_in_all(path, rounds); ++round) {
        for (int d = 0; d < count; ++d) {
            CHECK(hipSetDevice(d));
            advance<<<kGroups, 256, 0, gpus[d].stream>>>(gpus[d].words, d + round);
            CHECK(hipGetLastError());
            CHECK(hipEventRecord(gpus[d].advanced, gpus[d].stream));
            for (unsigned& word : gpus[d].model) word = word * 1664525u + d + round;
        }
        for (int d = 0; d < count; ++d) {
            Gpu &gpu = gpus[d], &next = gpus[(d + 1) % count];
            CHECK(hipSetDevice(d));
            CHECK(hipStreamWaitEvent(gpu.stream, next.advanced, 0));
            const unsigned* others = next.words;
            if (!gpu.reaches_next) {
                CHECK(hipMemcpyPeerAsync(gpu.copy, d, next.words, (d + 1) % count,
                                         kWords * sizeof(unsigned), gpu.stream));
                others = gpu.copy;
            }
            mix<<<kGroups, 256, 0, gpu.stream>>>(gpu.sums, gpu.words, others, &seen[d]);
            CHECK(hipGetLastError());
            for (unsigned i = 0; i < kWords; ++i) {
                gpu.model_sums[i] = gpu.model[i] + 3 * next.model[kWords - 1 - i];
            }
        }
        for (int d = 0; d < count; ++d) {
            CHECK(hipSetDevice(d));
            CHECK(hipStreamSynchronize(gpus[d].stream));
        }
        wanted_seen += round + 1;
        unsigned long long sum = 0;
        for (int d = 0; d < count; ++d) {
            Gpu &gpu = gpus[d], &next = gpus[(d + 1) % count];
            // Part of the sums becomes part of the words of the next one.
            CHECK(hipMemcpyPeer(next.words, (d + 1) % count, gpu.sums + d, d,
                                kPart * sizeof(unsigned)));
            std::copy_n(gpu.model_sums.begin() + d, kPart, next.model.begin());
        }
        for (int d = 0; d < count; ++d) {
            Gpu& gpu = gpus[d];
            CHECK(hipSetDevice(d));
            CHECK(hipDeviceSynchronize());
            for (auto side : {std::make_pair(gpu.words, &gpu.model), {gpu.sums, &gpu.model_sums}}) {
                CHECK(hipMemcpy(is.data(), side.first, kWords * sizeof(unsigned),
                                hipMemcpyDeviceToHost));
                if (is != *side.second) {
                    fprintf(stderr, "round %u: memory of GPU %d is wrong\n", round, d);
                    return 1;
                }
            }
            if (seen[d] != wanted_seen) {
                fprintf(stderr, "round %u: GPU %d has seen %u rounds\n", round, d, seen[d]);
                return 1;
            }
            for (unsigned word : gpu.model_sums) sum += word;
        }
        fprintf(log, "round %u sum %llu\n", round, sum);
        fflush(log);
        if (rest) usleep(rest);
    }
    fprintf(log, "end rounds %u\n", rounds_in_all(path, rounds));
    return 0;
}

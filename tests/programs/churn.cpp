// Gives memory back all the time, and takes other memory: nearly half of what it has at once, so that
// whoever reads all of it is likely to be there. Some it keeps, and never writes again.
//
//   churn ROUNDS LOG
#include <unistd.h>

#include "check.h"

constexpr int kBuffers = 2;
// More than the runtime keeps for later: what is freed is unmapped at once.
constexpr size_t kBytes = 48 << 20;
// Of a buffer, from its start: what is written and read.
constexpr size_t kUsed = 4 << 20;
constexpr size_t kKept = 16 << 20;
// Long enough for some batches of fingerprints.
constexpr unsigned kPause = 20000;

__global__ void add_up(const unsigned* words, unsigned long long* sum) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(sum, (unsigned long long)words[i * 1021]);
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    unsigned rounds = strtoul(argv[1], nullptr, 10);
    FILE* log = fopen(argv[2], "w");
    if (!log) return 1;
    unsigned* buffers[kBuffers];
    for (auto& buffer : buffers) {
        CHECK(hipMalloc(&buffer, kBytes));
        CHECK(hipMemset(buffer, 1, kUsed));
    }
    unsigned* kept;
    CHECK(hipMalloc(&kept, kKept));
    CHECK(hipMemset(kept, 2, kKept));
    unsigned long long *sum, host_sum;
    CHECK(hipMalloc(&sum, sizeof(*sum)));
    CHECK(hipMemset(sum, 0, sizeof(*sum)));
    for (unsigned round = 0; round < rounds_in_all(argv[2], rounds); ++round) {
        unsigned*& buffer = buffers[round % kBuffers];
        CHECK(hipFree(buffer));
        CHECK(hipMalloc(&buffer, kBytes));
        CHECK(hipMemset(buffer, round, kUsed));
        add_up<<<4, 256>>>(buffer, sum);
        CHECK(hipMemcpy(&host_sum, sum, sizeof(*sum), hipMemcpyDeviceToHost));
        fprintf(log, "round %u sum %llu\n", round, host_sum);
        fflush(log);
        usleep(kPause);
    }
    fprintf(log, "end\n");
    fclose(log);
    return 0;
}

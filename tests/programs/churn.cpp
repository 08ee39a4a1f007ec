// Gives memory back all the time, and takes other memory.
//
//   churn ROUNDS LOG
#include <vector>

#include "check.h"

constexpr int kBuffers = 24;
// More than the runtime keeps for later: what is freed is unmapped at once.
constexpr size_t kBytes = 4 << 20;

__global__ void add_up(const unsigned* words, unsigned long long* sum) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(sum, (unsigned long long)words[i * 1021]);
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    int rounds = atoi(argv[1]);
    FILE* log = fopen(argv[2], "w");
    if (!log) return 1;
    std::vector<unsigned*> buffers(kBuffers);
    for (auto& buffer : buffers) {
        CHECK(hipMalloc(&buffer, kBytes));
        CHECK(hipMemset(buffer, 1, kBytes));
    }
    unsigned long long *sum, host_sum;
    CHECK(hipMalloc(&sum, sizeof(*sum)));
    CHECK(hipMemset(sum, 0, sizeof(*sum)));
    unsigned random = 1;
    for (int round = 0; round < rounds; ++round) {
        random = random * 1664525u + 1013904223u;
        unsigned*& buffer = buffers[(random >> 8) % kBuffers];
        CHECK(hipFree(buffer));
        CHECK(hipMalloc(&buffer, kBytes));
        CHECK(hipMemset(buffer, round, kBytes));
        add_up<<<4, 256>>>(buffer, sum);
        CHECK(hipMemcpy(&host_sum, sum, sizeof(*sum), hipMemcpyDeviceToHost));
        fprintf(log, "round %d sum %llu\n", round, host_sum);
        fflush(log);
    }
    fprintf(log, "end\n");
    fclose(log);
    return 0;
}

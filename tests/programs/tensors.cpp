// Many tensors of odd sizes in one allocation, as a caching allocator has them; each round writes a part of them, one
// launch a tensor. With 100 % it writes all that it has, over and over.
//   tensors MEGABYTES PERCENT ROUNDS LOG
#include <vector>

#include "check.h"

constexpr unsigned kTensors = 256;

struct Tensor {
    size_t first, words;
};

__global__ void advance(unsigned* tensor, size_t words, unsigned round) {
    size_t step = size_t(gridDim.x) * blockDim.x;
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < words; i += step) {
        tensor[i] = tensor[i] * 1664525u + round + unsigned(i);
    }
}

int main(int argc, char** argv) {
    size_t words = (argc > 1 ? strtoul(argv[1], nullptr, 10) : 1) << 18;
    unsigned percent = argc > 2 ? strtoul(argv[2], nullptr, 10) : 10;
    unsigned told = argc > 3 ? strtoul(argv[3], nullptr, 10) : 3;
    const char* path = argc > 4 ? argv[4] : nullptr;
    FILE* log = path ? fopen(path, "w") : stdout;
    // Each has between a half and one and a half of its share, in words that no chunk begins at.
    std::vector<Tensor> tensors;
    size_t share = words / kTensors, at = 0;
    for (unsigned i = 0; i < kTensors; ++i) {
        size_t own = share / 2 + share * (i * 37 % 101) / 101;
        if (i + 1 == kTensors || at + own > words) own = words - at;
        tensors.push_back({at, own});
        at += own;
    }
    unsigned* segment;
    CHECK(hipMalloc(&segment, words * sizeof(unsigned)));
    CHECK(hipMemset(segment, 1, words * sizeof(unsigned)));
    unsigned written = kTensors * percent / 100, next = 0;
    for (unsigned round = 1; round <= rounds_in_all(path, told); ++round) {
        unsigned last = 0;
        for (unsigned i = 0; i < written; ++i) {
            last = next;
            next = (next + 1) % kTensors;
            Tensor tensor = tensors[last];
            if (tensor.words) advance<<<64, 256>>>(segment + tensor.first, tensor.words, round);
        }
        unsigned word = 0;
        if (tensors[last].words) {
            unsigned* end = segment + tensors[last].first + tensors[last].words - 1;
            CHECK(hipMemcpy(&word, end, sizeof word, hipMemcpyDeviceToHost));
        } else {
            CHECK(hipDeviceSynchronize());
        }
        fprintf(log, "round %u %08x\n", round, word);
        fflush(log);
    }
    if (path) fclose(log);
    return 0;
}

// Tables of pointers that kernels make and other kernels follow, as libraries for many small matrices do.
// Every round checks what the device holds against the host's own model.
//
//   tables ROUNDS [LOG [REST]]   one line a round, "round N sum S", to LOG or stdout; after each the
//                                GPU has nothing to do for REST ms
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "check.h"

constexpr int kCount = 96;
constexpr int kWords = 256;

// One work-item a matrix, or a grid with some to spare.
__global__ void set(unsigned** table, unsigned* base, int row, int column, int lda, int64_t stride) {
    table[blockIdx.x] = base + blockIdx.x * stride + row + column * lda;
}

__global__ void set_some(unsigned** table, unsigned* base, int64_t stride, int first, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) table[first + i] = base + (first + i) * stride;
}

__global__ void displace(unsigned** to, unsigned* const* from, int words, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = from[i] + words;
}

__global__ void set_both(unsigned** even, unsigned** odd, unsigned* base, int64_t stride, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    (i & 1 ? odd : even)[i >> 1] = base + i * stride;
}

// How often a loop goes round is not counted: this table is not known.
__global__ void set_in_a_loop(unsigned** table, unsigned* base, int64_t stride, int count) {
    for (int i = threadIdx.x; i < count; i += blockDim.x) table[i] = base + i * stride;
}

__global__ void advance(unsigned* const* table, int words, unsigned salt) {
    unsigned* matrix = table[blockIdx.y];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < words) matrix[i] = matrix[i] * 1664525u + salt;
}

int main(int argc, char** argv) {
    unsigned rounds = argc > 1 ? strtoul(argv[1], nullptr, 10) : 10;
    FILE* log = argc > 2 ? fopen(argv[2], "w") : stdout;
    useconds_t rest = argc > 3 ? 1000 * atoi(argv[3]) : 0;
    if (!log) {
        perror(argv[2]);
        return 1;
    }
    std::vector<unsigned> model(kCount * kWords), words(kCount * kWords);
    for (size_t i = 0; i < model.size(); ++i) model[i] = 7 * i;
    unsigned* base;
    CHECK(hipMalloc(&base, model.size() * sizeof(unsigned)));
    CHECK(hipMemcpy(base, model.data(), model.size() * sizeof(unsigned), hipMemcpyHostToDevice));
    unsigned **table, **other, **looped;
    for (unsigned*** each : {&table, &other, &looped}) {
        CHECK(hipMalloc(each, kCount * sizeof(unsigned*)));
    }
    hipStream_t make, use;
    hipEvent_t made, used;
    CHECK(hipStreamCreateWithFlags(&make, hipStreamNonBlocking));
    CHECK(hipStreamCreateWithFlags(&use, hipStreamNonBlocking));
    CHECK(hipEventCreate(&made));
    CHECK(hipEventCreate(&used));
    set_in_a_loop<<<1, 64, 0, use>>>(looped, base, kWords, kCount);
    auto advanced = [&](int first, int step, int count, int from, int length, unsigned salt) {
        for (int m = first; count > 0; m += step, --count) {
            for (int i = from; i < from + length; ++i) {
                unsigned& word = model[m * kWords + i];
                word = word * 1664525u + salt;
            }
        }
    };
    for (unsigned round = 0; round < rounds; ++round) {
        // All matrices, from their second column on.
        set<<<kCount, 1, 0, use>>>(table, base, 0, 1, 16, kWords);
        advance<<<dim3(1, kCount), 256, 0, use>>>(table, kWords - 16, round);
        advanced(0, 1, kCount, 16, kWords - 16, round);
        // The same, a little further, by a table made of that.
        displace<<<1, 128, 0, use>>>(other, table, 16, kCount);
        advance<<<dim3(1, kCount), 256, 0, use>>>(other, 8, round + 1);
        advanced(0, 1, kCount, 32, 8, round + 1);
        // The first half of the table is overwritten and made again.
        CHECK(hipMemsetAsync(table, 0, kCount / 2 * sizeof(unsigned*), use));
        set_some<<<1, 64, 0, use>>>(table, base, kWords, 0, kCount / 2);
        advance<<<dim3(1, kCount / 2), 256, 0, use>>>(table, 4, round + 2);
        advanced(0, 1, kCount / 2, 0, 4, round + 2);
        advance<<<dim3(1, kCount), 256, 0, use>>>(table, 2, round + 3);
        advanced(0, 1, kCount / 2, 0, 2, round + 3);
        advanced(kCount / 2, 1, kCount / 2, 16, 2, round + 3);
        // Made on one stream, used on another.
        CHECK(hipEventRecord(used, use));
        CHECK(hipStreamWaitEvent(make, used, 0));
        set_both<<<2, 64, 0, make>>>(table, other, base, kWords, kCount);
        CHECK(hipEventRecord(made, make));
        CHECK(hipStreamWaitEvent(use, made, 0));
        advance<<<dim3(1, kCount / 2), 256, 0, use>>>(table, kWords, round + 4);
        advanced(0, 2, kCount / 2, 0, kWords, round + 4);
        advance<<<dim3(1, kCount / 2), 256, 0, use>>>(other, 100, round + 5);
        advanced(1, 2, kCount / 2, 0, 100, round + 5);
        // Nobody knows where that writes, until it is read.
        advance<<<dim3(1, kCount), 256, 0, use>>>(looped, kWords, round + 6);
        advanced(0, 1, kCount, 0, kWords, round + 6);
        CHECK(hipMemcpyAsync(words.data(), base, words.size() * sizeof(unsigned),
                             hipMemcpyDeviceToHost, use));
        CHECK(hipStreamSynchronize(use));
        unsigned long long sum = 0;
        for (size_t i = 0; i < model.size(); ++i) {
            if (words[i] != model[i]) {
                fprintf(log, "round %u word %zu wrong\n", round, i);
                return 1;
            }
            sum += words[i];
        }
        fprintf(log, "round %u sum %llu\n", round, sum);
        fflush(log);
        usleep(rest);
        rounds = rounds_in_all(argc > 2 ? argv[2] : nullptr, rounds);
    }
    return 0;
}

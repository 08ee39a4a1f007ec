// A table of one pointer in device memory, which the CPU rewrites where a large BAR maps it, before
// every launch that follows it. Each launch adds one to all words of the next of some buffers, in a
// stream that waits for no other; each round visits all of them twice and compares.
//   rewritten ROUNDS LOG
#include <vector>

#include "check.h"

constexpr unsigned kWords = 1 << 19, kBuffers = 4;

__global__ void add_one(unsigned* const* table, unsigned count) {
    unsigned* words = *table;
    unsigned step = gridDim.x * blockDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        words[count - 1 - i] += 1;
    }
}

int main(int argc, char** argv) {
    unsigned rounds = argc > 1 ? strtoul(argv[1], nullptr, 10) : 8;
    FILE* log = argc > 2 ? fopen(argv[2], "w") : stdout;
    unsigned *buffers[kBuffers], **table;
    for (auto& words : buffers) {
        CHECK(hipMalloc(&words, kWords * sizeof(unsigned)));
        CHECK(hipMemset(words, 0, kWords * sizeof(unsigned)));
    }
    CHECK(hipMalloc(&table, sizeof(*table)));
    CHECK(hipMemcpy(table, &buffers[0], sizeof(*table), hipMemcpyHostToDevice));
    hipStream_t stream;
    CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    std::vector<unsigned> got(kWords);
    for (unsigned round = 0; round < rounds; ++round) {
        for (unsigned step = 0; step < 2 * kBuffers; ++step) {
            *const_cast<unsigned* volatile*>(table) = buffers[step % kBuffers];
            add_one<<<32, 256, 0, stream>>>(table, kWords);
            CHECK(hipStreamSynchronize(stream));
        }
        unsigned want = 2 * (round + 1);
        for (unsigned b = 0; b < kBuffers; ++b) {
            CHECK(hipMemcpy(got.data(), buffers[b], kWords * sizeof(unsigned),
                            hipMemcpyDeviceToHost));
            for (unsigned i = 0; i < kWords; ++i) {
                if (got[i] != want) {
                    fprintf(stderr, "round %u: word %u of buffer %u holds %u, not %u\n", round, i,
                            b, got[i], want);
                    return 1;
                }
            }
        }
        fprintf(log, "round %u\n", round);
        fflush(log);
    }
}

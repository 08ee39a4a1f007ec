// Holds much that it never writes, and writes little again and again; takes memory and gives it back. Every word of what
// comes of it is compared with what the host computes.
//   serves MEGABYTES ROUNDS LOG
#include <unistd.h>

#include <vector>

#include "check.h"

constexpr unsigned kWords = 1 << 14;
constexpr unsigned kTaken = 1 << 20;

__host__ __device__ unsigned weight(unsigned at) { return at * 2654435761u + 12345u; }
__host__ __device__ unsigned next(unsigned word, unsigned weight) {
    return word * 1664525u + weight + 1013904223u;
}

__global__ void fill(unsigned* weights, unsigned count) {
    unsigned step = gridDim.x * blockDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) weights[i] = weight(i);
}

__global__ void advance(const unsigned* weights, unsigned from, unsigned* words) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    words[i] = next(words[i], weights[from + i]);
}

static void expect(unsigned is, unsigned should_be, const char* what, unsigned at) {
    if (is == should_be) return;
    fprintf(stderr, "%s: word %u is %u and not %u\n", what, at, is, should_be);
    _exit(1);
}

int main(int argc, char** argv) {
    unsigned count = (argc > 1 ? strtoul(argv[1], nullptr, 10) : 1) << 18;
    unsigned told = argc > 2 ? strtoul(argv[2], nullptr, 10) : 3;
    const char* path = argc > 3 ? argv[3] : nullptr;
    FILE* log = path ? fopen(path, "w") : stdout;
    unsigned *weights, *words;
    CHECK(hipMalloc(&weights, count * sizeof(unsigned)));
    CHECK(hipMalloc(&words, kWords * sizeof(unsigned)));
    fill<<<256, 256>>>(weights, count);
    CHECK(hipMemset(words, 0, kWords * sizeof(unsigned)));
    std::vector<unsigned> got(kWords), should_be(kWords), all(count);
    for (unsigned round = 1; round <= rounds_in_all(path, told); ++round) {
        unsigned from = round * 40503u % (count - kWords);
        advance<<<kWords / 256, 256>>>(weights, from, words);
        // Given back while it may be on its way out.
        unsigned* taken;
        CHECK(hipMalloc(&taken, kTaken * sizeof(unsigned)));
        fill<<<64, 256>>>(taken, kTaken);
        advance<<<kWords / 256, 256>>>(taken, 0, words);
        CHECK(hipFree(taken));
        CHECK(hipMemcpy(got.data(), words, kWords * sizeof(unsigned), hipMemcpyDeviceToHost));
        for (unsigned i = 0; i < kWords; ++i) {
            should_be[i] = next(next(should_be[i], weight(from + i)), weight(i));
            expect(got[i], should_be[i], "words", i);
        }
        fprintf(log, "round %u \n", round);
        fflush(log);
        usleep(2000);
    }
    CHECK(hipMemcpy(all.data(), weights, count * sizeof(unsigned), hipMemcpyDeviceToHost));
    for (unsigned i = 0; i < count; ++i) expect(all[i], weight(i), "weights", i);
    fclose(log);
    return 0;
}

// Kernels that write where nothing tells of, ever others, and memory that says which of them have run.
//
//   hostile SEED LOG     runs until it is killed
//
// Operation N writes N into a region of a buffer, and nobody else ever does; which region of which
// buffer follows from SEED and N (tests/checkpoint/hostile.rs does the same arithmetic). Before and
// after it N goes into the two words of a clock. So a copy of the memory, taken at whatever instant,
// says whether it is of one instant.
#include <cstdint>
#include <unistd.h>

#include "check.h"

constexpr int kBuffers = 16;
constexpr int kWords = 1 << 16;
constexpr int kWidth = 700;
// Words of a buffer where the regions begin.
constexpr int kStray = 0, kByte = 1000, kHome = 2000, kOwn = 32768;
constexpr int kLiars = 96;
constexpr int kOperationsOfALiar = 6;

// All that it writes is in another buffer.
template <int liar>
__global__ void stray_buffer(unsigned* home, const long long* offset, unsigned n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kWidth) (home + *offset)[kStray + i] = n;
}

// One byte of it is.
template <int liar>
__global__ void stray_byte(unsigned* home, const long long* offset, unsigned n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kWidth) home[kHome + i] = n;
    if (i == 0) ((unsigned char*)(home + *offset + kByte))[1] = n;
}

using Liar = void (*)(unsigned*, const long long*, unsigned);

// The first so many of each.
template <int count>
struct Liars {
    static void list(Liar* buffer, Liar* byte) {
        buffer[count - 1] = stray_buffer<count - 1>;
        byte[count - 1] = stray_byte<count - 1>;
        Liars<count - 1>::list(buffer, byte);
    }
};

template <>
struct Liars<0> {
    static void list(Liar*, Liar*) {}
};

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    uint64_t seed = strtoull(argv[1], nullptr, 10);
    FILE* log = fopen(argv[2], "w");
    if (!log) return 1;
    Liar buffer_liars[kLiars], byte_liars[kLiars];
    Liars<kLiars>::list(buffer_liars, byte_liars);
    unsigned *buffers[kBuffers], *clock, *pinned;
    long long* offset;
    for (int b = 0; b < kBuffers; ++b) {
        CHECK(hipMalloc(&buffers[b], kWords * sizeof(unsigned)));
        CHECK(hipMemset(buffers[b], 0, kWords * sizeof(unsigned)));
        fprintf(log, "buffer %llu\n", (unsigned long long)buffers[b]);
    }
    CHECK(hipMalloc(&clock, 4096));
    CHECK(hipMemset(clock, 0, 4096));
    fprintf(log, "clock %llu\n", (unsigned long long)clock);
    CHECK(hipMalloc(&offset, sizeof(*offset)));
    CHECK(hipHostMalloc(&pinned, kWords * sizeof(unsigned), 0));
    CHECK(hipDeviceSynchronize());
    for (unsigned n = 1;; ++n) {
        uint64_t random = mix(seed * 0x9e3779b97f4a7c15ull + n);
        unsigned* victim = buffers[random % kBuffers];
        unsigned* home = buffers[(random >> 8) % kBuffers];
        int kind = (random >> 16) % 4;
        int liar = n / kOperationsOfALiar % kLiars;
        // With a pointer to host memory it is said to write nothing.
        if (kind == 1) home = pinned;
        // Only those that lie are kernels.
        CHECK(hipMemsetD32(clock, n, 1));
        long long value = victim - home;
        CHECK(hipMemcpy(offset, &value, sizeof(value), hipMemcpyHostToDevice));
        if (kind == 0) CHECK(hipMemsetD32(victim + kOwn, n, kWidth));
        if (kind == 1 || kind == 2) buffer_liars[liar]<<<3, 256>>>(home, offset, n);
        if (kind == 3) byte_liars[liar]<<<3, 256>>>(home, offset, n);
        CHECK(hipMemsetD32(clock + 1, n, 1));
        CHECK(hipDeviceSynchronize());
        if (n == 20) fprintf(log, "runs\n"), fflush(log);
        usleep(1000);
    }
}

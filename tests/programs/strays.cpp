// Writes that no footprint names: each round a kernel, or the CPU, writes to a buffer that nothing
// tells of. Every write depends on what was there, so that one made twice shows.
//
//   strays KIND SEED ROUNDS LOG     KIND: buffer   all that the kernel writes is in another buffer
//                                         byte     one byte of what it writes is
//                                         nothing  its pointer is to host memory, its writes are not
//                                         cpu      the CPU writes through its mapping of the device
//                                         flag     a word that goes back and forth is in another buffer
//                                         cpu_flag the CPU writes such a word, all the time, and says
//                                                  where it is not what was written last
//                                         honest   nobody strays
#include <cstdint>
#include <cstring>
#include <unistd.h>
#include <vector>

#include "check.h"

constexpr int kBuffers = 24;
constexpr int kWords = 1 << 14;
constexpr int kStrayed = 700;
// Nothing but strays is written here, and it is far more than can be saved at once: what is to be written next, as
// far as anyone knows, is saved first.
constexpr int kCold = 1 << 19;
constexpr int kSpan = 1 << 20;

__global__ void fill(unsigned* words, unsigned seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    words[i] = (i + seed) * 2654435761u;
}

__global__ void own(unsigned* words, unsigned round) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    words[i] = words[i] * 1664525u + round;
}

// What a kernel has put there, nobody else knows.
__global__ void place(long long* offset, long long value) { *offset = value; }

__global__ void stray_buffer(unsigned* home, const long long* offset, unsigned round) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned* words = home + *offset;
    if (i < kStrayed) words[i] = words[i] * 31u + round;
}

__global__ void stray_byte(unsigned* home, const long long* offset, unsigned round) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kStrayed) home[i] = home[i] * 31u + round;
    if (i == 0) ((unsigned char*)(home + *offset))[5] += 1 + round % 3;
}

__global__ void stray_flag(unsigned* home, const long long* offset) { home[*offset] ^= 1; }

__global__ void add_up(const unsigned* words, int buffer, unsigned long long* sum) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long part = 0;
    for (int n = i; n < kWords; n += gridDim.x * blockDim.x) {
        part += words[n] * (2ull * n + 1) * (buffer + 1);
    }
    atomicAdd(sum, part);
}

int main(int argc, char** argv) {
    if (argc < 5) return 2;
    const char* kind = argv[1];
    unsigned random = strtoul(argv[2], nullptr, 10) * 2654435761u + 12345;
    unsigned rounds = strtoul(argv[3], nullptr, 10);
    FILE* log = fopen(argv[4], "w");
    if (!log) return 1;
    std::vector<unsigned*> buffers(kBuffers);
    for (int b = 0; b < kBuffers; ++b) {
        CHECK(hipMalloc(&buffers[b], kSpan * sizeof(unsigned)));
        CHECK(hipMemset(buffers[b], 0x5a, kSpan * sizeof(unsigned)));
        fill<<<kWords / 256, 256>>>(buffers[b], b + random);
    }
    unsigned* pinned;
    CHECK(hipHostMalloc(&pinned, 4096, 0));
    long long* offset;
    CHECK(hipMalloc(&offset, sizeof(*offset)));
    unsigned long long *sum, host_sum;
    CHECK(hipMalloc(&sum, sizeof(*sum)));
    auto next = [&] {
        random = random * 1664525u + 1013904223u;
        return (random >> 8) % kBuffers;
    };
    for (unsigned round = 0; round < rounds; ++round) {
        for (int n = 0; n < 2; ++n) own<<<kWords / 256, 256>>>(buffers[next()], round);
        unsigned* home = buffers[next()];
        unsigned* victim = buffers[next()] + kCold;
        if (!strcmp(kind, "nothing")) home = pinned;
        bool flag = strstr(kind, "flag");
        if (flag) victim = buffers[kBuffers / 2] + kCold;
        place<<<1, 1>>>(offset, victim - home);
        if (!strcmp(kind, "buffer") || !strcmp(kind, "nothing")) {
            stray_buffer<<<3, 256>>>(home, offset, round);
        } else if (!strcmp(kind, "byte")) {
            stray_byte<<<3, 256>>>(home, offset, round);
        } else if (!strcmp(kind, "flag")) {
            stray_flag<<<1, 1>>>(home, offset);
        } else if (!strcmp(kind, "cpu_flag")) {
            CHECK(hipDeviceSynchronize());
            volatile unsigned* word = victim;
            unsigned written = *word;
            for (int i = 0; i < 1000; ++i) {
                if (*word != written) fprintf(log, "round %u write %d lost\n", round, i);
                *word = written ^= 1;
                usleep(200);
            }
        } else if (!strcmp(kind, "cpu")) {
            CHECK(hipDeviceSynchronize());
            volatile unsigned* words = victim;
            for (int i = 0; i < kStrayed; ++i) words[i] = words[i] * 31u + round;
        }
        CHECK(hipMemset(sum, 0, sizeof(*sum)));
        for (int b = 0; b < kBuffers; ++b) {
            add_up<<<4, 256>>>(buffers[b], b, sum);
            add_up<<<4, 256>>>(buffers[b] + kCold, kBuffers + b, sum);
        }
        CHECK(hipMemcpy(&host_sum, sum, sizeof(*sum), hipMemcpyDeviceToHost));
        fprintf(log, "round %u sum %llu\n", round, host_sum);
        fflush(log);
        rounds = rounds_in_all(argv[4], rounds);
    }
    fprintf(log, "end\n");
    fclose(log);
    return 0;
}

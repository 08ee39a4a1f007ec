// Memory in stream order: hipMallocAsync and hipFreeAsync on several streams, with contents handed
// from one allocation to the next.
//
//   pools [ROUNDS]
#include "rounds.h"

constexpr unsigned kStreams = 3;
constexpr unsigned kMost = 1 << 16;

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 80);
    hipStream_t streams[kStreams];
    unsigned* kept[kStreams];
    unsigned sizes[kStreams];
    for (unsigned s = 0; s < kStreams; ++s) {
        CHECK(hipStreamCreateWithFlags(&streams[s], s ? hipStreamNonBlocking : hipStreamDefault));
        sizes[s] = kMost;
        CHECK(hipMallocAsync(reinterpret_cast<void**>(&kept[s]), kMost * 4, streams[s]));
        fill_words<<<4, 256, 0, streams[s]>>>(kept[s], kMost, s);
    }
    for (unsigned round = 0; round < rounds; ++round) {
        for (unsigned s = 0; s < kStreams; ++s) {
            unsigned size = 1024 + mix(round * 3 + s) % (kMost - 1024);
            unsigned common = size < sizes[s] ? size : sizes[s];
            unsigned* next;
            CHECK(hipMallocAsync(reinterpret_cast<void**>(&next), size * 4, streams[s]));
            fill_words<<<2, 256, 0, streams[s]>>>(next, size, round);
            CHECK(hipMemcpyAsync(next, kept[s], common * 4, hipMemcpyDeviceToDevice, streams[s]));
            CHECK(hipFreeAsync(kept[s], streams[s]));
            advance_words<<<2, 256, 0, streams[s]>>>(next, size, round);
            kept[s] = next;
            sizes[s] = size;
        }
        CHECK(hipGetLastError());
        unsigned s = round % kStreams;
        say_round(round, digest(kept[s], sizes[s], streams[s]));
    }
    uint64_t sum = 0;
    for (unsigned s = 0; s < kStreams; ++s) sum = sum * 31 + digest(kept[s], sizes[s], streams[s]);
    say_round(rounds, sum);
}

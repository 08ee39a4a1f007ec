// A ring of streams that hand their work on by events, some recorded long before they are waited for.
//
//   events [ROUNDS]
#include "rounds.h"

constexpr unsigned kStreams = 5;
constexpr unsigned kWords = 1 << 15;

__global__ void take(const unsigned* from, unsigned* to, unsigned n, unsigned round) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        to[i] = to[i] * 3 + from[n - 1 - i] + round;
    }
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 60);
    hipStream_t streams[kStreams];
    hipEvent_t done[kStreams], old;
    unsigned* words[kStreams];
    for (unsigned s = 0; s < kStreams; ++s) {
        CHECK(hipStreamCreateWithFlags(&streams[s], s % 2 ? hipStreamNonBlocking : hipStreamDefault));
        CHECK(hipEventCreateWithFlags(&done[s], s % 2 ? hipEventDisableTiming : hipEventDefault));
        words[s] = words_of(kWords, s);
    }
    CHECK(hipEventCreate(&old));
    CHECK(hipEventRecord(old, streams[0]));
    for (unsigned round = 0; round < rounds; ++round) {
        for (unsigned s = 0; s < kStreams; ++s) {
            unsigned from = (s + kStreams - 1) % kStreams;
            if (round || s) CHECK(hipStreamWaitEvent(streams[s], done[from], 0));
            take<<<2, 256, 0, streams[s]>>>(words[from], words[s], kWords, round);
            CHECK(hipEventRecord(done[s], streams[s]));
        }
        CHECK(hipGetLastError());
        CHECK(hipStreamWaitEvent(streams[round % kStreams], old, 0));
        CHECK(hipEventSynchronize(done[kStreams - 1]));
        if (hipEventQuery(done[kStreams - 1]) != hipSuccess) return 1;
        float time = 0;
        if (round && hipEventElapsedTime(&time, old, done[0]) != hipSuccess) return 1;
        say_round(round, digest(words[round % kStreams], kWords, streams[round % kStreams]));
    }
    CHECK(hipDeviceSynchronize());
    uint64_t sum = 0;
    for (unsigned* w : words) sum = sum * 31 + digest(w, kWords);
    say_round(rounds, sum);
}

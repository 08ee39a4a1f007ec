// A stream of every kind, each used by a thread of its own: legacy, blocking, non-blocking, per
// thread, both priorities, with a mask of compute units. What a stream does depends on itself only.
//
//   streams [ROUNDS]
#include <hip/hip_ext.h>

#include <pthread.h>

#include <thread>
#include <vector>

#include "rounds.h"

constexpr unsigned kWords = 1 << 13;
constexpr int kStreams = 8;
// Enough for a round of any of them.
constexpr int kLaunches = 4;

static hipStream_t make(int kind) {
    int least = 0, greatest = 0;
    hipStream_t stream = nullptr;
    uint32_t mask = 0xff;
    CHECK(hipDeviceGetStreamPriorityRange(&least, &greatest));
    switch (kind) {
        case 0: return nullptr;
        case 1: CHECK(hipStreamCreate(&stream)); break;
        case 2: CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking)); break;
        case 3: return hipStreamPerThread;
        case 4: CHECK(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, greatest)); break;
        case 5: CHECK(hipStreamCreateWithPriority(&stream, hipStreamDefault, least)); break;
        case 6: CHECK(hipExtStreamCreateWithCUMask(&stream, 1, &mask)); break;
        default: return hipStreamPerThread;
    }
    return stream;
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 30);
    CHECK(hipInit(0));
    std::vector<unsigned*> words;
    for (int k = 0; k < kStreams; ++k) words.push_back(words_of(kWords, 100 + k));
    std::vector<uint64_t> results(kStreams);
    pthread_barrier_t turn;
    pthread_barrier_init(&turn, nullptr, kStreams + 1);
    std::vector<std::thread> threads;
    for (int k = 0; k < kStreams; ++k) {
        threads.emplace_back([&, k] {
            hipStream_t stream = make(k);
            unsigned host[64];
            for (unsigned round = 0; round < rounds; ++round) {
                for (int i = 0; i < kLaunches; ++i) {
                    advance_words<<<2, 256, 0, stream>>>(words[k], kWords, round * kLaunches + i);
                }
                CHECK(hipGetLastError());
                CHECK(hipMemcpyAsync(host, words[k] + 64 * k, sizeof(host), hipMemcpyDeviceToHost,
                                     stream));
                CHECK(hipStreamSynchronize(stream));
                uint64_t sum = 0;
                for (unsigned word : host) sum = sum * 31 + word;
                results[k] = sum;
                pthread_barrier_wait(&turn);
            }
        });
    }
    for (unsigned round = 0; round < rounds; ++round) {
        pthread_barrier_wait(&turn);
        if (round + 1 == rounds) break;
        say_round(round, kStreams);
    }
    for (std::thread& thread : threads) thread.join();
    uint64_t sum = 0;
    for (int k = 0; k < kStreams; ++k) sum = sum * 31 + results[k] + digest(words[k], kWords);
    say_round(rounds, sum);
}

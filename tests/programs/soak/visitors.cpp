// Threads that come, use their own default stream, and go; their numbers are used again.
//
//   visitors [ROUNDS]
#include <thread>
#include <vector>

#include "rounds.h"

constexpr unsigned kWords = 1 << 13;
constexpr unsigned kThreads = 3;

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 30);
    CHECK(hipInit(0));
    unsigned* words[kThreads];
    for (unsigned t = 0; t < kThreads; ++t) words[t] = words_of(kWords, t);
    unsigned* idle = words_of(1 << 19, 7);
    for (unsigned round = 0; round < rounds; ++round) {
        std::vector<std::thread> threads;
        std::vector<uint64_t> sums(kThreads);
        for (unsigned t = 0; t < kThreads; ++t) {
            threads.emplace_back([&, t] {
                for (unsigned i = 0; i < 4; ++i) {
                    advance_words<<<1, 256, 0, hipStreamPerThread>>>(words[t], kWords, round + i);
                }
                CHECK(hipGetLastError());
                if (t != 1) sums[t] = digest(words[t], kWords, hipStreamPerThread);
                // The second leaves its work behind for others to wait for.
            });
        }
        for (std::thread& thread : threads) thread.join();
        CHECK(hipDeviceSynchronize());
        say_round(round, sums[0] + 3 * sums[2] + 5 * digest(words[1], kWords));
    }
    say_round(rounds, digest(idle, 1 << 19));
}

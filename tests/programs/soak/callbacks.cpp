// Host functions in streams that compute what later work in the stream uses; another thread waits
// for what they write.
//
//   callbacks [ROUNDS]
#include <condition_variable>
#include <mutex>
#include <thread>

#include "rounds.h"

constexpr unsigned kWords = 1 << 14;

static std::mutex lock;
static std::condition_variable changed;
static unsigned long long seen = 0;
static unsigned calls = 0;

static void called(hipStream_t, hipError_t status, void* data) {
    unsigned* words = static_cast<unsigned*>(data);
    if (status != hipSuccess) exit(1);
    std::lock_guard<std::mutex> held(lock);
    for (unsigned i = 0; i < 256; ++i) words[i] = words[i] * 5 + calls;
    seen = seen * 31 + words[calls % 256];
    ++calls;
    changed.notify_all();
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 60);
    unsigned* words = words_of(kWords, 1);
    unsigned* idle = words_of(1 << 20, 2);
    unsigned* host;
    CHECK(hipHostMalloc(&host, kWords * 4, 0));
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    for (unsigned round = 0; round < rounds; ++round) {
        advance_words<<<1, 256, 0, stream>>>(words, kWords, round);
        CHECK(hipMemcpyAsync(host, words, 1024, hipMemcpyDeviceToHost, stream));
        CHECK(hipStreamAddCallback(stream, called, host, 0));
        CHECK(hipMemcpyAsync(words + 2048, host, 1024, hipMemcpyHostToDevice, stream));
        advance_words<<<1, 256, 0, stream>>>(idle + mix(round) % (1 << 19), 512, round);
        CHECK(hipGetLastError());
        unsigned long long now = 0;
        std::thread waiter([&] {
            std::unique_lock<std::mutex> held(lock);
            changed.wait(held, [&] { return calls == round + 1; });
            now = seen;
        });
        waiter.join();
        CHECK(hipStreamSynchronize(stream));
        say_round(round, now);
    }
    say_round(rounds, digest(words, kWords) + 3 * digest(idle, 1 << 20));
}

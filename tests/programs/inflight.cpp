// Has work on the GPU at any moment, whichever way it is asked for, and checks every word of what comes of it: a
// checkpoint in the middle that loses or adds one step of one work-item makes it end with an error.
//
//   inflight HOW ROUNDS LOG
//
// HOW: `long`: launches that take long, three deep, each of which changes its words in memory all the time;
// `apart`: the same on the stream of each of two threads; `anywhere`: the same through a pointer that nobody sees before;
// `feeds`: behind such launches calls that wait for them in HIP: copies to the device, memsets, frees;
// `waits`: a thread waits in HIP for a kernel that another thread lets go, after other calls of its own;
// `polls`: a kernel waits for what a copy enqueued later brings; `calls`: a host callback waits for another thread's work.
#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "check.h"

constexpr unsigned kWords = 1 << 15;
constexpr unsigned kTurns = 400;
constexpr unsigned kDepth = 3;

static unsigned rounds;
static const char* log_path;
static FILE* log_file;

static bool goes_on(unsigned round) { return round <= rounds_in_all(log_path, rounds); }

__device__ unsigned step(unsigned word, unsigned turn) { return word * 1664525u + turn; }

__global__ void work(volatile unsigned* words, unsigned value) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned turn = 0; turn < kTurns; ++turn) words[i] = step(words[i], turn ^ value);
}

// Where it writes is in memory, and has been computed there.
__global__ void work_anywhere(volatile unsigned** place, unsigned value) {
    volatile unsigned* words = *place;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned turn = 0; turn < kTurns; ++turn) words[i] = step(words[i], turn ^ value);
}

__global__ void find(unsigned** place, unsigned* words, const unsigned* zero) {
    *place = words + *zero;
}

__global__ void poll(unsigned* flag, unsigned wanted, unsigned* polls) {
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != wanted) {
        __builtin_amdgcn_s_sleep(10);
    }
    polls[0] += 1;
}

static void worked(std::vector<unsigned>& words, unsigned value) {
    for (unsigned& word : words) {
        for (unsigned turn = 0; turn < kTurns; ++turn) word = word * 1664525u + (turn ^ value);
    }
}

static void expect(const std::vector<unsigned>& is, const std::vector<unsigned>& should_be, const char* what) {
    for (size_t at = 0; at < is.size(); ++at) {
        if (is[at] != should_be[at]) {
            fprintf(stderr, "%s: word %zu is %u and not %u\n", what, at, is[at], should_be[at]);
            _exit(1);
        }
    }
}

static void done(unsigned round) {
    fprintf(log_file, "round %u \n", round);
    fflush(log_file);
}

static unsigned* words_of(const std::vector<unsigned>& content) {
    unsigned* words;
    CHECK(hipMalloc(&words, content.size() * sizeof(unsigned)));
    CHECK(hipMemcpy(words, content.data(), content.size() * sizeof(unsigned), hipMemcpyHostToDevice));
    return words;
}

static std::vector<unsigned> numbered(unsigned first) {
    std::vector<unsigned> words(kWords);
    for (unsigned at = 0; at < kWords; ++at) words[at] = first + at;
    return words;
}

static void long_work(hipStream_t stream, bool anywhere, bool writes_log) {
    std::vector<unsigned> expected = numbered(7), found(kWords);
    unsigned *words = words_of(expected), *zero = words_of({0});
    // Memory that nobody may touch, between and beside.
    std::vector<unsigned> quiet_content = numbered(11);
    unsigned* quiet = words_of(quiet_content);
    unsigned** place;
    CHECK(hipMalloc(&place, sizeof *place));
    for (unsigned round = 1; goes_on(round); ++round) {
        if (anywhere) find<<<1, 1, 0, stream>>>(place, words, zero);
        for (unsigned launch = 0; launch < kDepth; ++launch) {
            unsigned value = round * kDepth + launch;
            if (anywhere) {
                work_anywhere<<<kWords / 256, 256, 0, stream>>>((volatile unsigned**)place, value);
            } else {
                work<<<kWords / 256, 256, 0, stream>>>(words, value);
            }
            worked(expected, value);
        }
        // Waits in a copy one time, and for the stream the other.
        if (round % 2) CHECK(hipStreamSynchronize(stream));
        CHECK(hipMemcpyWithStream(found.data(), words, kWords * sizeof(unsigned), hipMemcpyDeviceToHost, stream));
        expect(found, expected, "worked");
        if (writes_log) done(round);
    }
    CHECK(hipMemcpy(found.data(), quiet, kWords * sizeof(unsigned), hipMemcpyDeviceToHost));
    expect(found, quiet_content, "quiet");
}

__global__ void add(unsigned* words, const unsigned* more) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    words[i] += more[i];
}

static void feeds() {
    std::vector<unsigned> expected = numbered(13), found(kWords), fed(kWords);
    unsigned *words = words_of(expected), *input = words_of(fed), *filled = words_of(fed);
    for (unsigned round = 1; goes_on(round); ++round) {
        for (unsigned launch = 0; launch < kDepth; ++launch) {
            work<<<kWords / 256, 256>>>(words, launch);
            worked(expected, launch);
        }
        unsigned* gone = nullptr;
        switch (round % 3) {
            case 0:
                for (unsigned& word : fed) word = word * 5 + round;
                CHECK(hipMemcpy(input, fed.data(), kWords * sizeof(unsigned), hipMemcpyHostToDevice));
                break;
            case 1:
                CHECK(hipMemset(filled, round & 0xff, kWords * sizeof(unsigned)));
                break;
            case 2:
                CHECK(hipMalloc(&gone, kWords * sizeof(unsigned)));
                CHECK(hipFree(gone));
                break;
        }
        add<<<kWords / 256, 256>>>(words, input);
        for (unsigned at = 0; at < kWords; ++at) expected[at] += fed[at];
        CHECK(hipMemcpy(found.data(), words, kWords * sizeof(unsigned), hipMemcpyDeviceToHost));
        expect(found, expected, "worked");
        if (round % 3 == 1) {
            CHECK(hipMemcpy(found.data(), filled, kWords * sizeof(unsigned), hipMemcpyDeviceToHost));
            expect(found, std::vector<unsigned>(kWords, 0x01010101u * (round & 0xff)), "filled");
        }
        done(round);
    }
}

static void polls() {
    hipStream_t waits, brings;
    CHECK(hipStreamCreateWithFlags(&waits, hipStreamNonBlocking));
    CHECK(hipStreamCreateWithFlags(&brings, hipStreamNonBlocking));
    std::vector<unsigned> expected = numbered(3), found(kWords), count(1);
    unsigned *flag = words_of({0}), *polled = words_of({0}), *words = words_of(expected), *host;
    CHECK(hipHostMalloc(&host, sizeof *host));
    for (unsigned round = 1; goes_on(round); ++round) {
        poll<<<1, 1, 0, waits>>>(flag, round, polled);
        for (unsigned launch = 0; launch < 8; ++launch) {
            usleep(2000);
            work<<<kWords / 256, 256, 0, brings>>>(words, launch);
            worked(expected, launch);
        }
        *host = round;
        CHECK(hipMemcpyAsync(flag, host, sizeof *host, hipMemcpyHostToDevice, brings));
        CHECK(hipStreamSynchronize(waits));
        CHECK(hipStreamSynchronize(brings));
        CHECK(hipMemcpy(found.data(), words, kWords * sizeof(unsigned), hipMemcpyDeviceToHost));
        CHECK(hipMemcpy(count.data(), polled, sizeof(unsigned), hipMemcpyDeviceToHost));
        expect(found, expected, "worked");
        expect(count, {round}, "polled");
        done(round);
    }
}

static std::mutex mutex;
static std::condition_variable changed;
static unsigned wanted, made;
static bool over;

static void waits() {
    hipStream_t stream;
    CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    unsigned* flag;
    CHECK(hipHostMalloc(&flag, sizeof *flag, hipHostMallocCoherent));
    *flag = 0;
    unsigned* polled = words_of({0});
    std::vector<unsigned> expected = numbered(9), count(1);
    unsigned* words = words_of(expected);
    std::thread lets_go([&] {
        std::vector<unsigned> found(kWords);
        for (unsigned round = 1;; ++round) {
            std::unique_lock<std::mutex> lock(mutex);
            changed.wait(lock, [=] { return over || wanted >= round; });
            if (over) return;
            lock.unlock();
            for (unsigned turn = 0; turn < 20; ++turn) {
                hipStream_t other;
                CHECK(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
                if (turn % 10 == 5) {
                    work<<<kWords / 256, 256, 0, other>>>(words, turn);
                    worked(expected, turn);
                    // Of memory that is not pinned: it waits.
                    CHECK(hipMemcpyAsync(found.data(), words, kWords * sizeof(unsigned), hipMemcpyDeviceToHost, other));
                    CHECK(hipStreamSynchronize(other));
                    expect(found, expected, "worked");
                }
                CHECK(hipStreamDestroy(other));
                usleep(10000);
            }
            __atomic_store_n(flag, round, __ATOMIC_RELEASE);
        }
    });
    for (unsigned round = 1; goes_on(round); ++round) {
        poll<<<1, 1, 0, stream>>>(flag, round, polled);
        {
            std::lock_guard<std::mutex> lock(mutex);
            wanted = round;
        }
        changed.notify_all();
        CHECK(hipStreamSynchronize(stream));
        CHECK(hipMemcpyWithStream(count.data(), polled, sizeof(unsigned), hipMemcpyDeviceToHost, stream));
        expect(count, {round}, "polled");
        done(round);
    }
    {
        std::lock_guard<std::mutex> lock(mutex);
        over = true;
    }
    changed.notify_all();
    lets_go.join();
}

static void call_back(hipStream_t, hipError_t, void*) {
    std::unique_lock<std::mutex> lock(mutex);
    unsigned mine = ++wanted;
    changed.notify_all();
    changed.wait(lock, [=] { return made >= mine; });
}

static void calls() {
    hipStream_t waits;
    CHECK(hipStreamCreateWithFlags(&waits, hipStreamNonBlocking));
    std::vector<unsigned> expected = numbered(5), other = numbered(6), found(kWords);
    unsigned* words = words_of(expected);
    std::thread answers([&] {
        hipStream_t stream;
        CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
        std::vector<unsigned> found(kWords);
        unsigned* words = words_of(other);
        for (unsigned round = 1;; ++round) {
            std::unique_lock<std::mutex> lock(mutex);
            changed.wait(lock, [=] { return over || wanted >= round; });
            if (over) return;
            lock.unlock();
            for (unsigned launch = 0; launch < 4; ++launch) {
                usleep(2000);
                work<<<kWords / 256, 256, 0, stream>>>(words, launch);
                worked(other, launch);
            }
            CHECK(hipStreamSynchronize(stream));
            CHECK(hipMemcpyWithStream(found.data(), words, kWords * sizeof(unsigned), hipMemcpyDeviceToHost, stream));
            expect(found, other, "answered");
            lock.lock();
            made = round;
            changed.notify_all();
        }
    });
    for (unsigned round = 1; goes_on(round); ++round) {
        work<<<kWords / 256, 256, 0, waits>>>(words, round);
        CHECK(hipStreamAddCallback(waits, call_back, nullptr, 0));
        work<<<kWords / 256, 256, 0, waits>>>(words, ~round);
        worked(expected, round);
        worked(expected, ~round);
        CHECK(hipStreamSynchronize(waits));
        CHECK(hipMemcpyWithStream(found.data(), words, kWords * sizeof(unsigned), hipMemcpyDeviceToHost, waits));
        expect(found, expected, "worked");
        done(round);
    }
    {
        std::lock_guard<std::mutex> lock(mutex);
        over = true;
    }
    changed.notify_all();
    answers.join();
}

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    rounds = strtoul(argv[2], nullptr, 10);
    log_path = argv[3];
    log_file = fopen(log_path, "a");
    const char* how = argv[1];
    if (!strcmp(how, "feeds")) {
        feeds();
    } else if (!strcmp(how, "waits")) {
        waits();
    } else if (!strcmp(how, "polls")) {
        polls();
    } else if (!strcmp(how, "calls")) {
        calls();
    } else if (!strcmp(how, "apart")) {
        // HIP 5.2 crashes where two threads launch the code object's first kernels at once.
        work<<<kWords / 256, 256>>>(words_of(numbered(0)), 0);
        CHECK(hipDeviceSynchronize());
        std::thread other([] { long_work(hipStreamPerThread, false, false); });
        long_work(hipStreamPerThread, false, true);
        other.join();
    } else {
        hipStream_t stream;
        CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
        long_work(stream, !strcmp(how, "anywhere"), true);
    }
    return 0;
}

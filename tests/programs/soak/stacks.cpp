// Threads with the smallest stack there is, which launch, copy and fill: what a call of theirs needs
// beside HIP must find room elsewhere. Each round has threads of its own, and a kernel that nobody has
// launched before: while a checkpoint is under way it is analysed in their call.
//
//   stacks [ROUNDS]
#include <climits>
#include <pthread.h>

#include "rounds.h"

constexpr unsigned kWords = 1 << 14;
constexpr int kThreads = 3;

__global__ void scatter(unsigned* const* table, unsigned round) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned* words = table[(i + round) % kThreads];
    words[i] = words[i] * 31u + mix(i ^ round);
}

// Loops in loops, tests and a table, so that there is something to analyse.
template <unsigned N>
__global__ void first(unsigned* const* table, unsigned* own, unsigned round) {
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned i = 0; i < N % 5 + 2; ++i) {
        unsigned word = own[(at + i) % kWords];
        for (unsigned k = 0; k < (word & 3); ++k) {
            if (word % (N + 2) == k) own[kWords - 1 - at] += round;
            else word += k * N;
        }
        if (at == N) own[at] = word + (table[i % kThreads] == own);
    }
}

using First = void (*)(unsigned* const*, unsigned*, unsigned);

template <unsigned N>
struct FirstOf {
    static First get(unsigned n) { return n % 64 == N ? first<N> : FirstOf<N - 1>::get(n); }
};

template <>
struct FirstOf<0> {
    static First get(unsigned) { return first<0>; }
};

struct Work {
    unsigned *own, **table, round;
    hipStream_t stream;
};

static void* work(void* argument) {
    Work& work = *static_cast<Work*>(argument);
    advance_words<<<8, 256, 0, work.stream>>>(work.own, kWords / 2, work.round);
    // Of one work-item: the order in which several would write is nobody's.
    FirstOf<63>::get(work.round)<<<1, 1, 0, work.stream>>>(work.table, work.own, work.round);
    CHECK(hipMemcpyAsync(work.own + kWords / 2, work.own, kWords, hipMemcpyDeviceToDevice, work.stream));
    CHECK(hipMemsetAsync(work.own + kWords - 100, work.round, 200, work.stream));
    CHECK(hipStreamSynchronize(work.stream));
    unsigned word = 0;
    CHECK(hipMemcpy(&word, work.own + 7, sizeof(word), hipMemcpyDeviceToHost));
    word = mix(word);
    CHECK(hipMemcpy(work.own + 11, &word, sizeof(word), hipMemcpyHostToDevice));
    return nullptr;
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 50);
    unsigned *words[kThreads], **table;
    Work works[kThreads];
    CHECK(hipMalloc(&table, sizeof(words)));
    for (int t = 0; t < kThreads; ++t) {
        words[t] = works[t].own = words_of(kWords, t);
        works[t].table = table;
        CHECK(hipStreamCreate(&works[t].stream));
    }
    unsigned* idle = words_of(1 << 19, 9);
    CHECK(hipMemcpy(table, words, sizeof(words), hipMemcpyHostToDevice));
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN)) return 1;
    for (unsigned round = 0; round < rounds; ++round) {
        pthread_t threads[kThreads];
        for (int t = 0; t < kThreads; ++t) {
            works[t].round = round;
            if (pthread_create(&threads[t], &attributes, work, &works[t])) return 1;
        }
        for (pthread_t thread : threads) pthread_join(thread, nullptr);
        scatter<<<kWords / 256, 256>>>(table, round);
        CHECK(hipGetLastError());
        uint64_t value = 0;
        for (unsigned* own : words) value = value * 31 + digest(own, kWords);
        say_round(round, value);
    }
    say_round(rounds, digest(idle, 1 << 19));
}

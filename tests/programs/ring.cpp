// A ring of processes, each with a GPU of its own (or as many as there are), that add up what all of them
// have: in each round every one changes its words, and a reduce-scatter and an all-gather go round the
// ring. Who comes next reads its neighbour's memory through a handle: the sums by a kernel, what is
// gathered by a copy. Each round is compared with what the host has computed.
//
//   ring RANKS ROUNDS [LOG [REST]]   the first one writes a line a round, "round N sum S", to LOG or
//                                    stdout; after each nobody has anything to do for REST ms
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <vector>

#include "check.h"

constexpr unsigned kMost = 16;
constexpr unsigned kWords = 240240;  // every number of ranks up to 16 divides it
constexpr unsigned kFactor = 1664525;

// What the processes share.
struct Shared {
    hipIpcMemHandle_t handles[kMost];
    std::atomic<unsigned> arrived, turn, failed, rounds;
};

static Shared* shared;
static unsigned ranks;

// Waits for all others.
static void meet() {
    unsigned turn = shared->turn;
    if (++shared->arrived == ranks) {
        shared->arrived = 0;
        ++shared->turn;
    }
    while (shared->turn == turn) {
        if (shared->failed) exit(1);
        usleep(200);
    }
}

__global__ void change(unsigned* words, unsigned add) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kWords) words[i] = words[i] * kFactor + add;
}

__global__ void reduce(unsigned* words, const unsigned* from, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) words[i] += from[i];
}

// Memory of each one's own: what all the sums were.
__global__ void keep(unsigned* own, const unsigned* words) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kWords) own[i] = own[i] * 3 + words[i];
}

static void all_reduce(unsigned rank, unsigned* words, const unsigned* left, hipStream_t stream) {
    unsigned n = kWords / ranks;
    for (unsigned step = 1; step < ranks; ++step) {
        // In step s the sum of s + 1 ranks arrives here: it began s ranks to the left.
        unsigned part = (rank + ranks - step) % ranks * n;
        reduce<<<(n + 255) / 256, 256, 0, stream>>>(words + part, left + part, n);
        CHECK(hipGetLastError());
        CHECK(hipStreamSynchronize(stream));
        meet();
    }
    for (unsigned step = 0; step + 1 < ranks; ++step) {
        unsigned part = (rank + ranks - step) % ranks * n;
        CHECK(hipMemcpyAsync(words + part, left + part, n * sizeof *words, hipMemcpyDeviceToDevice,
                             stream));
        CHECK(hipStreamSynchronize(stream));
        meet();
    }
}

static unsigned initial(unsigned rank, unsigned i) { return rank * 7919u + i; }

// `rounds`, or as many as `path` says (check.h).
static void run(unsigned rank, unsigned rounds, const char* path, FILE* log, useconds_t rest) {
    int gpus;
    CHECK(hipGetDeviceCount(&gpus));
    CHECK(hipSetDevice(rank % gpus));
    unsigned *words, *own, *left = nullptr;
    hipStream_t stream;
    CHECK(hipMalloc(&words, kWords * sizeof *words));
    CHECK(hipMalloc(&own, kWords * sizeof *own));
    CHECK(hipMemset(own, 0, kWords * sizeof *own));
    CHECK(hipStreamCreate(&stream));
    std::vector<unsigned> is(kWords), model(kWords), kept(kWords);
    for (unsigned i = 0; i < kWords; ++i) is[i] = initial(rank, i);
    CHECK(hipMemcpy(words, is.data(), kWords * sizeof *words, hipMemcpyHostToDevice));
    CHECK(hipIpcGetMemHandle(&shared->handles[rank], words));
    meet();
    unsigned neighbour = (rank + ranks - 1) % ranks;
    if (neighbour != rank) {
        CHECK(hipIpcOpenMemHandle(reinterpret_cast<void**>(&left), shared->handles[neighbour],
                                  hipIpcMemLazyEnablePeerAccess));
    }
    for (unsigned round = 0;; ++round) {
        // All read the same: nobody writes again before all have met once more.
        if (rank == 0) shared->rounds = rounds_in_all(path, rounds);
        meet();
        if (round >= shared->rounds) break;
        change<<<(kWords + 255) / 256, 256, 0, stream>>>(words, rank + round);
        CHECK(hipStreamSynchronize(stream));
        meet();
        all_reduce(rank, words, left, stream);
        keep<<<(kWords + 255) / 256, 256, 0, stream>>>(own, words);
        CHECK(hipStreamSynchronize(stream));
        CHECK(hipMemcpy(is.data(), words, kWords * sizeof *words, hipMemcpyDeviceToHost));
        unsigned long long sum = 0;
        for (unsigned i = 0; i < kWords; ++i) {
            unsigned total = 0;
            for (unsigned r = 0; r < ranks; ++r) {
                total += (round ? model[i] : initial(r, i)) * kFactor + r + round;
            }
            model[i] = total;
            kept[i] = kept[i] * 3 + total;
            sum += total;
        }
        bool right = is == model;
        CHECK(hipMemcpy(is.data(), own, kWords * sizeof *own, hipMemcpyDeviceToHost));
        if (!right || is != kept) {
            fprintf(stderr, "rank %u: round %u is wrong\n", rank, round);
            exit(1);
        }
        if (rank == 0) {
            fprintf(log, "round %u sum %llu\n", round, sum);
            fflush(log);
        }
        if (rest) usleep(rest);
    }
    meet();
    if (left) CHECK(hipIpcCloseMemHandle(left));
    meet();
    CHECK(hipFree(words));
    CHECK(hipFree(own));
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    ranks = strtoul(argv[1], nullptr, 10);
    unsigned rounds = strtoul(argv[2], nullptr, 10);
    FILE* log = argc > 3 ? fopen(argv[3], "w") : stdout;
    useconds_t rest = argc > 4 ? 1000 * atoi(argv[4]) : 0;
    if (!log || ranks == 0 || ranks > kMost || kWords % ranks) return 2;
    void* page = mmap(nullptr, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return 1;
    shared = static_cast<Shared*>(page);
    // Each is a process of its own from before its first call of HIP.
    unsigned rank = ranks;
    while (--rank > 0 && fork() != 0) continue;
    // Nobody waits for ever for a first one that was killed.
    if (rank != 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Whoever leaves early takes the others along.
    atexit([] { ++shared->failed; });
    run(rank, rounds, argc > 3 ? argv[3] : nullptr, log, rest);
    if (rank != 0) _exit(0);
    bool well = true;
    int status;
    while (wait(&status) > 0) well &= status == 0;
    fprintf(log, "end ranks %u rounds %u\n", ranks, shared->rounds.load());
    fflush(log);
    return !well;
}

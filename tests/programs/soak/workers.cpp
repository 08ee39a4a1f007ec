// Several processes that use the device, under a parent that does not: what a launcher of workers is.
// Numbers go round in a ring of pipes, several at a time, so that all are at work at once; each worker mixes
// what it gets with its own memory on the device, so that all depend on all. Where there are several GPUs, they
// share them out.
//
//   workers [ROUNDS [OUTPUT]]   as many as OUTPUT.rounds says, once that is there
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "rounds.h"

constexpr unsigned kWorkers = 3;
constexpr unsigned kWords = 1 << 18;

static __global__ void take(unsigned* words, unsigned n, unsigned long long number) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        words[i] = words[i] * 1664525u + (unsigned)(number >> (i % 32));
    }
}

static bool get(int from, uint64_t& number) { return read(from, &number, sizeof number) == sizeof number; }

static void put(int to, uint64_t number) {
    if (write(to, &number, sizeof number) != sizeof number) exit(1);
}

// Takes a number, works, and passes what it makes of it on, until 0 comes round.
static void work(unsigned self, int from, int to) {
    int gpus;
    CHECK(hipGetDeviceCount(&gpus));
    CHECK(hipSetDevice((int)self % gpus));
    unsigned* words = words_of(kWords, self);
    unsigned round = 0;
    uint64_t number;
    while (get(from, number) && number != 0) {
        take<<<8, 256>>>(words, kWords, number);
        CHECK(hipGetLastError());
        number = digest(words, kWords) | 1;
        if (self == 0) say_round(round, number);
        ++round;
        put(to, number);
    }
    printf("worker %u %016llx\n", self, (unsigned long long)digest(words, kWords));
    fflush(stdout);
    // The next one says its last word after ours.
    put(to, 0);
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 50);
    const char* output = argc > 2 ? argv[2] : nullptr;
    // Into each worker, and from the last one to us.
    int in[kWorkers + 1], out[kWorkers + 1];
    for (unsigned i = 0; i <= kWorkers; ++i) {
        int ends[2];
        if (pipe(ends)) return 1;
        out[i] = ends[0];
        in[i] = ends[1];
    }
    pid_t workers[kWorkers];
    for (unsigned self = 0; self < kWorkers; ++self) {
        workers[self] = fork();
        if (workers[self] != 0) continue;
        // Not longer than who would wait for it.
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (unsigned i = 0; i <= kWorkers; ++i) {
            if (i != self) close(out[i]);
            if (i != self + 1) close(in[i]);
        }
        work(self, out[self], in[self + 1]);
        return 0;
    }
    uint64_t number = 0;
    for (unsigned i = 0; i < kWorkers; ++i) put(in[0], 2 * i + 1);
    for (unsigned round = kWorkers; round < rounds_in_all(output, rounds); ++round) {
        if (!get(out[kWorkers], number)) return 1;
        put(in[0], number);
    }
    put(in[0], 0);
    do {
        if (!get(out[kWorkers], number)) return 1;
    } while (number != 0);
    for (pid_t worker : workers) {
        int status;
        if (waitpid(worker, &status, 0) != worker || status != 0) return 1;
    }
    printf("end\n");
}

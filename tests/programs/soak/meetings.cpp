// Two processes whose kernels wait for one another, as those of a collective do: each says in memory that
// both have that it has come, and goes on when the other has come as far. Both launch ahead of the device.
//
//   meetings [ROUNDS]
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "rounds.h"

constexpr unsigned kWords = 1 << 16;
constexpr unsigned kAhead = 4;

// Meets the other in a round and takes what it has brought.
static __global__ void meet(volatile unsigned* mine, volatile unsigned* others, unsigned* words, unsigned n,
                            unsigned round) {
    __shared__ unsigned brought;
    if (threadIdx.x == 0) {
        mine[1 + round % (2 * kAhead)] = words[round % n];
        __threadfence_system();
        mine[0] = round + 1;
        while (others[0] < round + 1) __builtin_amdgcn_s_sleep(64);
        __threadfence_system();
        brought = others[1 + round % (2 * kAhead)];
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) words[i] = words[i] * 1664525u + mix(brought + i);
}

static int work(unsigned self, unsigned rounds, unsigned* shared) {
    void* device;
    CHECK(hipHostRegister(shared, 4096, hipHostRegisterMapped));
    CHECK(hipHostGetDevicePointer(&device, shared, 0));
    unsigned* words = words_of(kWords, self);
    unsigned *mine = (unsigned*)device + self * 64, *others = (unsigned*)device + (1 - self) * 64;
    hipEvent_t done[kAhead];
    for (hipEvent_t& event : done) CHECK(hipEventCreate(&event));
    for (unsigned round = 0; round < rounds; ++round) {
        if (round >= kAhead) CHECK(hipEventSynchronize(done[round % kAhead]));
        meet<<<1, 256>>>(mine, others, words, kWords, round);
        CHECK(hipGetLastError());
        CHECK(hipEventRecord(done[round % kAhead], nullptr));
        // Not at the same pace.
        if (self == 1) usleep(mix(round) % 20000);
        if (self == 0 && round % 16 == 15) say_round(round, digest(words, kWords));
    }
    CHECK(hipDeviceSynchronize());
    return digest(words, kWords) % 97;
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 480);
    void* both = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (both == MAP_FAILED) return 1;
    pid_t workers[2];
    for (unsigned self = 0; self < 2; ++self) {
        workers[self] = fork();
        if (workers[self] != 0) continue;
        // Not longer than who would wait for it.
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        return work(self, rounds, (unsigned*)both);
    }
    for (pid_t worker : workers) {
        int status = 0;
        if (waitpid(worker, &status, 0) != worker || !WIFEXITED(status)) return 1;
        printf("state %d\n", WEXITSTATUS(status));
    }
}

// Blocks every kind of stream, and the queues below them, with kernels that wait for the host; and
// lets them go only when kernels that write its state have come through beside them. Nothing in it
// waits for itself: it ends wherever the device is its own.
//
//   blocks MEGABYTES ROUNDS LOG      a line for each round; from SIGUSR1 on rounds block
//
// What it computes does not depend on when that comes. "through" says that all ways were gone twice.
#include <atomic>
#include <csignal>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "check.h"

static volatile sig_atomic_t blocking = 0;

static const int BUFFERS = 8;
static const size_t UPLOAD = 1 << 20;

__global__ void begin(unsigned* words, size_t n, unsigned seed) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        words[i] = (unsigned)i * 2654435761u ^ seed;
    }
}

__global__ void step(unsigned* words, size_t n, unsigned round) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        words[i] = words[i] * 1664525u + round;
    }
}

__global__ void sum(const unsigned* words, size_t n, unsigned* result) {
    unsigned sum = 0;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += words[i] ^ (unsigned)i;
    }
    atomicAdd(result, sum);
}

// Waits for the host.
__global__ void wait_for(const unsigned* word) {
    while (__atomic_load_n(word, __ATOMIC_RELAXED) == 0) __builtin_amdgcn_s_sleep(64);
}

struct State {
    unsigned* words[BUFFERS];
    size_t n;
    unsigned* sum;
    unsigned* host_sum;
    // Work that nothing blocks.
    hipStream_t free_stream;
    // What the blocked streams use, and nobody else.
    unsigned* go;
    unsigned* scratch;
    unsigned* pinned;
    uint64_t* signal;
    std::atomic<bool> callback_may_end;
};

static void work(State& state, unsigned round) {
    for (int at = 0; at < BUFFERS; ++at) {
        step<<<16, 256, 0, state.free_stream>>>(state.words[at], state.n, round + at);
        CHECK(hipGetLastError());
    }
    CHECK(hipMemsetAsync(state.sum, 0, sizeof(unsigned), state.free_stream));
    for (int at = 0; at < BUFFERS; ++at) {
        sum<<<16, 256, 0, state.free_stream>>>(state.words[at], state.n, state.sum);
        CHECK(hipGetLastError());
    }
    CHECK(hipStreamSynchronize(state.free_stream));
}

// A kernel that waits for the host, and behind it whatever else can wait.
static void block(State& state, hipStream_t stream, bool with_callback) {
    wait_for<<<1, 64, 0, stream>>>(state.go);
    CHECK(hipGetLastError());
    CHECK(hipMemcpyAsync(state.scratch, state.pinned, UPLOAD, hipMemcpyHostToDevice, stream));
    CHECK(hipMemcpyAsync(state.pinned, state.scratch, UPLOAD, hipMemcpyDeviceToHost, stream));
    hipEvent_t event;
    CHECK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
    CHECK(hipEventRecord(event, stream));
    CHECK(hipStreamWaitEvent(stream, event, 0));
    CHECK(hipEventDestroy(event));
    // HIP 5.2 crashes when it is asked for this on a thread's own stream.
    if (stream != hipStreamPerThread) {
        CHECK(hipStreamWaitValue64(stream, state.signal, 1, hipStreamWaitValueGte, ~0ull));
    }
    if (with_callback) {
        auto wait = [](hipStream_t, hipError_t, void* data) {
            while (!static_cast<State*>(data)->callback_may_end) usleep(100);
        };
        CHECK(hipStreamAddCallback(stream, wait, &state, 0));
    }
}

static void let_go(State& state) {
    __atomic_store_n(state.go, 1u, __ATOMIC_SEQ_CST);
    __atomic_store_n(state.signal, 1ull, __ATOMIC_SEQ_CST);
    state.callback_may_end = true;
}

static void blocked_round(State& state, unsigned round, int way) {
    *state.go = 0;
    *state.signal = 0;
    state.callback_may_end = false;
    hipStream_t stream = nullptr;
    if (way == 1) CHECK(hipStreamCreate(&stream));
    if (way == 2) CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    auto all = [&] {
        block(state, way == 3 ? hipStreamPerThread : stream, way != 3);
        work(state, round);
        let_go(state);
        CHECK(hipStreamSynchronize(way == 3 ? hipStreamPerThread : stream));
    };
    if (way == 3) {
        std::thread(all).join();
    } else {
        all();
    }
    if (stream != nullptr) CHECK(hipStreamDestroy(stream));
}

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    signal(SIGUSR1, [](int) { blocking = 1; });
    State state{};
    state.n = (strtoul(argv[1], nullptr, 10) << 20) / BUFFERS / sizeof(unsigned);
    unsigned rounds = strtoul(argv[2], nullptr, 10);
    FILE* log = fopen(argv[3], "w");
    if (log == nullptr) return 2;
    int least, greatest;
    CHECK(hipDeviceGetStreamPriorityRange(&least, &greatest));
    // Streams of another priority share no queue with the others.
    CHECK(hipStreamCreateWithPriority(&state.free_stream, hipStreamNonBlocking, greatest));
    CHECK(hipMalloc(&state.sum, sizeof(unsigned)));
    CHECK(hipMalloc(&state.scratch, UPLOAD));
    CHECK(hipHostMalloc(&state.pinned, UPLOAD, 0));
    CHECK(hipHostMalloc(&state.go, sizeof(unsigned), hipHostMallocCoherent));
    CHECK(hipHostMalloc(&state.host_sum, sizeof(unsigned), hipHostMallocCoherent));
    CHECK(hipExtMallocWithFlags((void**)&state.signal, 8, hipMallocSignalMemory));
    for (int at = 0; at < BUFFERS; ++at) {
        CHECK(hipMalloc(&state.words[at], state.n * sizeof(unsigned)));
        begin<<<16, 256, 0, state.free_stream>>>(state.words[at], state.n, at);
    }
    CHECK(hipStreamSynchronize(state.free_stream));
    int blocked = 0;
    for (unsigned round = 0; round < rounds; ++round) {
        if (blocking && blocked < 8) {
            blocked_round(state, round, blocked++ % 4);
            if (blocked == 8) say("through");
        } else {
            work(state, round);
            usleep(20000);
        }
        CHECK(hipMemcpy(state.host_sum, state.sum, sizeof(unsigned), hipMemcpyDeviceToHost));
        fprintf(log, "round %u %08x\n", round, *state.host_sum);
        fflush(log);
    }
    say("done");
    return 0;
}

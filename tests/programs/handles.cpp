// Two processes and the handles that HIP passes between them: of memory, opened from a pointer into the
// middle of an allocation, which stands for all of it, and of an event that is recorded in one process and
// waited for in the other. What the second one reads and writes is compared with the host's arithmetic.
//
//   handles
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "check.h"

constexpr unsigned kWords = 100003;
constexpr size_t kBytes = kWords * sizeof(unsigned);

struct Shared {
    hipIpcMemHandle_t memory;
    hipIpcEventHandle_t event;
    std::atomic<int> stage;
};

static Shared* shared;
static int gpus;

// Waits until the other one has come so far.
static void await_stage(int stage) {
    while (shared->stage < stage) usleep(100);
}

__global__ void fill(unsigned* words, unsigned seed, unsigned turns) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = i;
    for (unsigned turn = 0; turn < turns; ++turn) value = value * 1664525u + seed;
    if (i < kWords) words[i] = value;
}

__global__ void twice(unsigned* words) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kWords) words[i] *= 2;
}

constexpr unsigned kGroups = (kWords + 255) / 256;
constexpr unsigned kSeed = 99, kTurns = 300;

static unsigned model(unsigned i) {
    unsigned value = i;
    for (unsigned turn = 0; turn < kTurns; ++turn) value = value * 1664525u + kSeed;
    return value;
}

static unsigned count_wrong(const unsigned* device, unsigned factor) {
    std::vector<unsigned> words(kWords);
    CHECK(hipMemcpy(words.data(), device, kBytes, hipMemcpyDeviceToHost));
    unsigned wrong = 0;
    for (unsigned i = 0; i < kWords; ++i) wrong += words[i] != model(i) * factor;
    return wrong;
}

static int second() {
    await_stage(1);
    CHECK(hipGetDeviceCount(&gpus));
    CHECK(hipSetDevice(gpus - 1));
    unsigned* words;
    hipEvent_t filled;
    hipStream_t stream;
    CHECK(hipIpcOpenMemHandle(reinterpret_cast<void**>(&words), shared->memory,
                              hipIpcMemLazyEnablePeerAccess));
    CHECK(hipIpcOpenEventHandle(&filled, shared->event));
    CHECK(hipStreamCreate(&stream));
    shared->stage = 2;
    await_stage(3);
    // The first one's kernel may run still.
    CHECK(hipStreamWaitEvent(stream, filled, 0));
    twice<<<kGroups, 256, 0, stream>>>(words);
    CHECK(hipGetLastError());
    CHECK(hipStreamSynchronize(stream));
    unsigned wrong = count_wrong(words, 2);
    CHECK(hipIpcCloseMemHandle(words));
    shared->stage = 4;
    return wrong != 0;
}

int main() {
    void* page = mmap(nullptr, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return 1;
    shared = static_cast<Shared*>(page);
    pid_t child = fork();
    if (child == 0) return second();
    unsigned* words;
    hipEvent_t filled;
    CHECK(hipMalloc(&words, kBytes));
    CHECK(hipMemset(words, 0, kBytes));
    CHECK(hipEventCreateWithFlags(&filled, hipEventInterprocess | hipEventDisableTiming));
    CHECK(hipIpcGetMemHandle(&shared->memory, words + 1000));
    CHECK(hipIpcGetEventHandle(&shared->event, filled));
    shared->stage = 1;
    await_stage(2);
    fill<<<kGroups, 256>>>(words, kSeed, kTurns);
    CHECK(hipGetLastError());
    CHECK(hipEventRecord(filled, 0));
    shared->stage = 3;
    await_stage(4);
    unsigned wrong = count_wrong(words, 2);
    int status;
    waitpid(child, &status, 0);
    printf("handles wrong %u %d\n", wrong, status);
    return wrong != 0 || status != 0;
}

// Two streams that write the same bytes in no order, and others that are ordered: by an event, by a query
// that says it is over, because memory was freed, because their rows are apart, by a value that one writes
// and the other waits for; a copy, a callback, a graph of a captured kernel. It says "ready" and waits for SIGTERM.
//
//   unordered ROUNDS
#include <csignal>
#include <cstdlib>
#include <unistd.h>

#include "check.h"

static volatile sig_atomic_t stop = 0;
static int called = 0;

__global__ void left(unsigned* words) { words[threadIdx.x] = 1; }
__global__ void right(unsigned* words) { words[threadIdx.x] = 1; }
__global__ void before(unsigned* words) { words[threadIdx.x] += 1; }
__global__ void behind(const unsigned* words, unsigned* sums) { sums[threadIdx.x] += words[threadIdx.x]; }
__global__ void captured(unsigned* words) { words[threadIdx.x] += 1; }

__global__ void ordered(unsigned* words) { words[threadIdx.x] += 1; }

static void call(hipStream_t, hipError_t, void* count) { ++*(int*)count; }

int main(int argc, char** argv) {
    unsigned rounds = argc > 1 ? strtoul(argv[1], nullptr, 10) : 1;
    signal(SIGTERM, [](int) { stop = 1; });
    constexpr unsigned kWords = 64, kBytes = kWords * sizeof(unsigned);
    unsigned *shared, *words, *sums;
    for (unsigned** buffer : {&shared, &words, &sums}) {
        CHECK(hipMalloc(buffer, kBytes));
        CHECK(hipMemset(*buffer, 0, kBytes));
    }
    CHECK(hipDeviceSynchronize());
    hipStream_t a, b;
    CHECK(hipStreamCreateWithFlags(&a, hipStreamNonBlocking));
    CHECK(hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
    hipEvent_t event;
    CHECK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
    unsigned* late;
    CHECK(hipMalloc(&late, kBytes));
    ordered<<<1, kWords, 0, a>>>(late);
    CHECK(hipEventRecord(event, a));
    while (hipEventQuery(event) != hipSuccess) usleep(100);
    ordered<<<1, kWords, 0, b>>>(late);
    // The same bytes, of another buffer.
    CHECK(hipFree(late));
    CHECK(hipMalloc(&late, kBytes));
    ordered<<<1, kWords, 0, a>>>(late);
    CHECK(hipStreamSynchronize(a));
    CHECK(hipMemset2DAsync(late, 64, 1, 16, 4, a));
    CHECK(hipMemset2DAsync(late + 8, 64, 2, 16, 4, b));
    CHECK(hipDeviceSynchronize());
    unsigned* flag;
    CHECK(hipExtMallocWithFlags((void**)&flag, 8, hipMallocSignalMemory));
    ordered<<<1, kWords, 0, a>>>(late);
    CHECK(hipStreamWriteValue32(a, flag, 1, 0));
    CHECK(hipStreamWaitValue32(b, flag, 1, hipStreamWaitValueGte, 0xffffffff));
    ordered<<<1, kWords, 0, b>>>(late);
    CHECK(hipDeviceSynchronize());
    hipGraph_t graph;
    hipGraphExec_t launchable;
    CHECK(hipStreamBeginCapture(a, hipStreamCaptureModeGlobal));
    captured<<<1, kWords, 0, a>>>(words);
    CHECK(hipStreamEndCapture(a, &graph));
    CHECK(hipGraphInstantiate(&launchable, graph, nullptr, nullptr, 0));
    unsigned copied[kWords];
    for (unsigned round = 0; round < rounds; ++round) {
        left<<<1, kWords, 0, a>>>(shared);
        right<<<1, kWords, 0, b>>>(shared);
        before<<<1, kWords, 0, a>>>(words);
        CHECK(hipEventRecord(event, a));
        CHECK(hipStreamWaitEvent(b, event, 0));
        behind<<<1, kWords, 0, b>>>(words, sums);
        CHECK(hipStreamAddCallback(b, call, &called, 0));
        CHECK(hipMemcpyAsync(copied, sums, kBytes, hipMemcpyDeviceToHost, b));
        CHECK(hipStreamSynchronize(b));
        CHECK(hipGraphLaunch(launchable, a));
        CHECK(hipStreamSynchronize(a));
    }
    // In round n the words are 2n + 1 when they are added up.
    bool right_sum = copied[7] == rounds * rounds && called == (int)rounds;
    say(right_sum ? "ready" : "wrong");
    while (!stop && argc > 1) usleep(10000);
    return right_sum ? 0 : 1;
}

// Four threads, each with a stream (two of them the thread's own), events and a callback.
#include <atomic>
#include <thread>
#include <vector>

#include "../check.h"

__global__ void increment(unsigned* word) { *word += 1; }

static std::atomic<int> callbacks{0};
static std::atomic<int> bad{0};

static void called(hipStream_t, hipError_t, void*) { ++callbacks; }

static void work(int number) {
    hipStream_t stream = hipStreamPerThread;
    if (number % 2) CHECK(hipStreamCreate(&stream));
    hipEvent_t event;
    CHECK(hipEventCreate(&event));
    unsigned* word;
    CHECK(hipMallocAsync(reinterpret_cast<void**>(&word), sizeof(unsigned), stream));
    CHECK(hipMemsetAsync(word, 0, sizeof(unsigned), stream));
    for (int i = 0; i < 25; ++i) {
        increment<<<1, 1, 0, stream>>>(word);
        CHECK(hipGetLastError());
    }
    CHECK(hipStreamAddCallback(stream, called, nullptr, 0));
    CHECK(hipEventRecord(event, stream));
    CHECK(hipEventSynchronize(event));
    unsigned got = 0;
    CHECK(hipMemcpyAsync(&got, word, sizeof(got), hipMemcpyDeviceToHost, stream));
    CHECK(hipStreamSynchronize(stream));
    bad += got != 25;
    CHECK(hipFree(word));
    CHECK(hipEventDestroy(event));
}

int main() {
    // HIP 5.2.3 does not stand being initialised by several threads at once.
    CHECK(hipInit(0));
    std::vector<std::thread> threads;
    for (int number = 0; number < 4; ++number) threads.emplace_back(work, number);
    for (std::thread& thread : threads) thread.join();
    CHECK(hipDeviceSynchronize());
    printf("threads %zu callbacks %d bad %d\n", threads.size(), callbacks.load(), bad.load());
    return bad != 0;
}

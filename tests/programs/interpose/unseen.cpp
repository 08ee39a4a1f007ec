// What a program could notice: the last error, the current device, a thread cancelled inside HIP.
#include <pthread.h>
#include <unistd.h>

#include "../check.h"

__global__ void spin(volatile unsigned* go_on) {
    while (*go_on) __builtin_amdgcn_s_sleep(64);
}

static hipStream_t stream;

static void* wait_for_ever(void*) {
    while (true) {
        // Returns at once or waits; either way the thread is cancelled here.
        (void)hipStreamSynchronize(stream);
        pthread_testcancel();
    }
    return nullptr;
}

int main() {
    void* nothing = nullptr;
    unsigned* go_on;
    CHECK(hipHostMalloc(&go_on, sizeof(unsigned), hipHostMallocCoherent));
    bool errors = hipGetLastError() == hipSuccess;
    errors &= hipMalloc(&nothing, size_t(1) << 60) == hipErrorOutOfMemory;
    errors &= hipPeekAtLastError() == hipErrorOutOfMemory;
    errors &= hipGetLastError() == hipErrorOutOfMemory;
    errors &= hipGetLastError() == hipSuccess;
    errors &= hipMemcpy(nullptr, go_on, 4, hipMemcpyHostToDevice) != hipSuccess;
    errors &= hipFree(go_on + 1) != hipSuccess;
    (void)hipGetLastError();
    int device = -1;
    CHECK(hipGetDevice(&device));
    CHECK(hipStreamCreate(&stream));
    *go_on = 1;
    spin<<<1, 64, 0, stream>>>(go_on);
    pthread_t thread;
    pthread_create(&thread, nullptr, wait_for_ever, nullptr);
    usleep(100000);
    pthread_cancel(thread);
    *reinterpret_cast<volatile unsigned*>(go_on) = 0;
    void* result = nullptr;
    pthread_join(thread, &result);
    CHECK(hipDeviceSynchronize());
    printf("errors %s device %d cancelled %s\n", errors ? "ok" : "bad", device,
           result == PTHREAD_CANCELED ? "ok" : "bad");
}

// Uses an API that keeps state no checkpoint holds (events of several processes), then works on.
#include <unistd.h>

#include "check.h"

__global__ void count_up(unsigned* word) { *word += 1; }

int main() {
    unsigned* word;
    CHECK(hipMalloc(&word, sizeof(unsigned)));
    CHECK(hipMemset(word, 0, sizeof(unsigned)));
    hipEvent_t event;
    CHECK(hipEventCreate(&event));
    hipIpcEventHandle_t handle;
    // Whether it works on this machine does not matter: it was asked for.
    (void)hipIpcGetEventHandle(&handle, event);
    (void)hipGetLastError();
    say("ready");
    for (;;) {
        count_up<<<1, 1>>>(word);
        CHECK(hipDeviceSynchronize());
        usleep(20000);
    }
}

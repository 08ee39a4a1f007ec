// A program that, once told to by SIGUSR1, goes on for a moment and then leaves the device:
//   leaves exit     calls exit while launches are under way
//   leaves reset    calls hipDeviceReset, starts over and ends well
#include <csignal>
#include <cstring>

#include "check.h"

static volatile sig_atomic_t leave = 0;

__global__ void count_up(unsigned* words, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        words[i] += 1;
    }
}

static unsigned* start(int n) {
    unsigned* words;
    CHECK(hipMalloc(&words, n * sizeof(unsigned)));
    CHECK(hipMemset(words, 0, n * sizeof(unsigned)));
    return words;
}

int main(int argc, char** argv) {
    bool reset = argc > 1 && strcmp(argv[1], "reset") == 0;
    signal(SIGUSR1, [](int) { leave = 1; });
    const int n = 4 << 20;
    unsigned* words = start(n);
    say("ready");
    while (!leave) {
        count_up<<<16, 256>>>(words, n);
        CHECK(hipDeviceSynchronize());
    }
    count_up<<<16, 256>>>(words, n);
    if (!reset) exit(7);
    CHECK(hipDeviceReset());
    words = start(n);
    count_up<<<16, 256>>>(words, n);
    unsigned last = 0;
    CHECK(hipMemcpy(&last, words + n - 1, sizeof(last), hipMemcpyDeviceToHost));
    say(last == 1 ? "reset and went on" : "wrong after reset");
    return last != 1;
}

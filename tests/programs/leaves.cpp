// A program that, once told to by SIGUSR1, goes on for a moment and then leaves the device:
//   leaves exit     calls exit while launches are under way
//   leaves reset    calls hipDeviceReset, starts over and ends well
//   leaves resets   does that again and again
//   leaves back     without being told: exits the moment it is back from an image, by the clock
//   leaves exec     becomes another program, which uses no GPU and ends well
#include <csignal>
#include <cstring>
#include <ctime>
#include <unistd.h>

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

// Exits once the clock has gone on by more than four seconds while nobody looked.
static void leave_when_back() {
    for (time_t before = time(nullptr), now = before; now - before <= 4; usleep(1000)) {
        before = now;
        now = time(nullptr);
    }
    _exit(7);
}

int main(int argc, char** argv) {
    bool again = argc > 1 && strcmp(argv[1], "resets") == 0;
    bool reset = again || (argc > 1 && strcmp(argv[1], "reset") == 0);
    bool exec = argc > 1 && strcmp(argv[1], "exec") == 0;
    signal(SIGUSR1, [](int) { leave = 1; });
    const int n = 4 << 20;
    unsigned* words = start(n);
    say("ready");
    if (argc > 1 && !strcmp(argv[1], "back")) leave_when_back();
    while (!leave) {
        count_up<<<16, 256>>>(words, n);
        CHECK(hipDeviceSynchronize());
    }
    count_up<<<16, 256>>>(words, n);
    if (exec) execlp("sleep", "sleep", "1", nullptr);
    if (!reset) exit(7);
    unsigned last = 1;
    for (int turn = 0; turn < (again ? 60 : 1) && last == 1; ++turn) {
        CHECK(hipDeviceReset());
        words = start(n);
        count_up<<<16, 256>>>(words, n);
        CHECK(hipMemcpy(&last, words + n - 1, sizeof(last), hipMemcpyDeviceToHost));
    }
    say(last == 1 ? "reset and went on" : "wrong after reset");
    return last != 1;
}

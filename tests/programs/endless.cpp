// A kernel that never ends by itself: it spins until the host lets it go on SIGTERM.
#include <csignal>
#include <unistd.h>

#include "check.h"

static volatile sig_atomic_t stop = 0;

__global__ void spin_forever(volatile unsigned* go_on, unsigned* turns) {
    unsigned n = 0;
    while (*go_on) {
        ++n;
        __builtin_amdgcn_s_sleep(64);
    }
    *turns = n;
}

int main() {
    signal(SIGTERM, [](int) { stop = 1; });
    unsigned *go_on, *turns;
    CHECK(hipHostMalloc(&go_on, sizeof(unsigned), hipHostMallocCoherent));
    CHECK(hipMalloc(&turns, sizeof(unsigned)));
    *go_on = 1;
    spin_forever<<<1, 64>>>(go_on, turns);
    CHECK(hipGetLastError());
    say("spinning");
    while (!stop) usleep(10000);
    *reinterpret_cast<volatile unsigned*>(go_on) = 0;
    CHECK(hipDeviceSynchronize());
    unsigned n = 0;
    CHECK(hipMemcpy(&n, turns, sizeof(n), hipMemcpyDeviceToHost));
    say(n > 0 ? "ended" : "never ran");
    return n == 0;
}

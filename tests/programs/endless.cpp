// A kernel that never ends by itself: it computes until the host lets it go on SIGTERM, and what it
// computed is then compared with the host's own sequence, so that no turn may be lost or done twice.
#include <csignal>
#include <unistd.h>

#include "check.h"

static volatile sig_atomic_t stop = 0;

__host__ __device__ static unsigned next(unsigned value) { return value * 1664525u + 1013904223u; }

__global__ void spin_forever(volatile unsigned* go_on, unsigned* result) {
    unsigned n = 0;
    unsigned value = 1;
    while (*go_on) {
        ++n;
        value = next(value);
        __builtin_amdgcn_s_sleep(64);
    }
    if (threadIdx.x == 0) {
        result[0] = n;
        result[1] = value;
    }
}

int main() {
    signal(SIGTERM, [](int) { stop = 1; });
    unsigned *go_on, *result;
    CHECK(hipHostMalloc(&go_on, sizeof(unsigned), hipHostMallocCoherent));
    CHECK(hipMalloc(&result, 2 * sizeof(unsigned)));
    *go_on = 1;
    spin_forever<<<1, 64>>>(go_on, result);
    CHECK(hipGetLastError());
    say("spinning");
    while (!stop) usleep(10000);
    *reinterpret_cast<volatile unsigned*>(go_on) = 0;
    CHECK(hipDeviceSynchronize());
    unsigned got[2];
    CHECK(hipMemcpy(got, result, sizeof(got), hipMemcpyDeviceToHost));
    unsigned value = 1;
    for (unsigned n = 0; n < got[0]; ++n) value = next(value);
    bool right = got[0] > 0 && got[1] == value;
    say(right ? "ended right" : "ended wrong");
    return !right;
}

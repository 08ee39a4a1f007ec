// Kernels that must end the program the way they do on hardware, through the runtime.
//
//   faults wild [ADDRESS]     writes to an address that is not mapped
//   faults trap               executes a trap
#include <cstring>

#include "check.h"

__global__ void wild(int* p) { p[threadIdx.x] = 1; }
__global__ void trap() { __builtin_trap(); }

int main(int argc, char** argv) {
    if (argc > 1 && !strcmp(argv[1], "trap")) {
        trap<<<1, 64>>>();
    } else {
        unsigned long address = argc > 2 ? strtoul(argv[2], nullptr, 0) : 0x10000;
        wild<<<1, 64>>>(reinterpret_cast<int*>(address));
    }
    CHECK(hipDeviceSynchronize());
    say("survived");
    return 0;
}

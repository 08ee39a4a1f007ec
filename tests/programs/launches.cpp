// Measures its own launches: prints how long each call of an empty kernel takes the host, in
// nanoseconds, one number a line.
//
//   launches [COUNT]
#include <algorithm>
#include <chrono>
#include <vector>

#include "check.h"

__global__ void touch(unsigned* word, unsigned value) {
    if (threadIdx.x == 0) *word = value;
}

int main(int argc, char** argv) {
    unsigned count = argc > 1 ? strtoul(argv[1], nullptr, 10) : 2000;
    unsigned* word;
    CHECK(hipMalloc(&word, sizeof(unsigned)));
    std::vector<long long> nanoseconds;
    nanoseconds.reserve(count);
    for (unsigned i = 0; i < count + 50; ++i) {
        auto start = std::chrono::steady_clock::now();
        touch<<<1, 64>>>(word, i);
        auto end = std::chrono::steady_clock::now();
        CHECK(hipGetLastError());
        // The first ones load code; a short queue keeps the device out of the measurement.
        if (i >= 50) nanoseconds.push_back((end - start).count());
        if (i % 16 == 15) CHECK(hipDeviceSynchronize());
    }
    CHECK(hipDeviceSynchronize());
    for (long long n : nanoseconds) printf("%lld\n", n);
    return 0;
}

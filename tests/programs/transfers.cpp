// Copies a pinned buffer to the device and back; prints how long that took.
//
//   transfers MEGABYTES      prints "microseconds N"
#include <chrono>
#include <cstring>

#include "check.h"

int main(int argc, char** argv) {
    size_t bytes = (argc > 1 ? strtoul(argv[1], nullptr, 10) : 8) << 20;
    unsigned char *host, *device;
    CHECK(hipHostMalloc(reinterpret_cast<void**>(&host), bytes, 0));
    CHECK(hipMalloc(reinterpret_cast<void**>(&device), bytes));
    // Once before the clock starts: the runtime makes its copy queues on first use.
    CHECK(hipMemcpy(device, host, 1 << 20, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(host, device, 1 << 20, hipMemcpyDeviceToHost));
    memset(host, 0x5a, bytes);
    auto start = std::chrono::steady_clock::now();
    CHECK(hipMemcpy(device, host, bytes, hipMemcpyHostToDevice));
    memset(host, 0, bytes);
    CHECK(hipMemcpy(host, device, bytes, hipMemcpyDeviceToHost));
    auto end = std::chrono::steady_clock::now();
    for (size_t i = 0; i < bytes; ++i) {
        if (host[i] != 0x5a) return 1;
    }
    long us = std::chrono::duration_cast<std::chrono::microseconds>(end - start).count();
    printf("microseconds %ld\n", us);
    return 0;
}

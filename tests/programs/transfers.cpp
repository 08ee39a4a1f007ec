// Copies a pinned buffer to the device and back, or memory of the first GPU to the second and back; prints
// how long that took.
//
//   transfers MEGABYTES [peers]      prints "microseconds N"
#include <chrono>
#include <cstring>

#include "check.h"

static long microseconds_since(std::chrono::steady_clock::time_point start) {
    auto taken = std::chrono::steady_clock::now() - start;
    return std::chrono::duration_cast<std::chrono::microseconds>(taken).count();
}

static void between_peers(size_t bytes, unsigned char* host) {
    unsigned char* device[2];
    for (int d = 0; d < 2; ++d) {
        CHECK(hipSetDevice(d));
        CHECK(hipMalloc(reinterpret_cast<void**>(&device[d]), bytes));
        CHECK(hipDeviceEnablePeerAccess(1 - d, 0));
    }
    auto copy = [&](int to, size_t count) {
        CHECK(hipMemcpyPeer(device[to], to, device[1 - to], 1 - to, count));
        for (int d = 0; d < 2; ++d) {
            CHECK(hipSetDevice(d));
            CHECK(hipDeviceSynchronize());
        }
    };
    copy(1, 4096);
    copy(0, 4096);
    CHECK(hipMemcpy(device[0], host, bytes, hipMemcpyHostToDevice));
    auto start = std::chrono::steady_clock::now();
    copy(1, bytes);
    long there = microseconds_since(start);
    CHECK(hipMemset(device[0], 0, bytes));
    CHECK(hipDeviceSynchronize());
    start = std::chrono::steady_clock::now();
    copy(0, bytes);
    printf("microseconds %ld\n", there + microseconds_since(start));
    memset(host, 0, bytes);
    CHECK(hipMemcpy(host, device[0], bytes, hipMemcpyDeviceToHost));
}

int main(int argc, char** argv) {
    size_t bytes = (argc > 1 ? strtoul(argv[1], nullptr, 10) : 8) << 20;
    unsigned char *host, *device;
    CHECK(hipHostMalloc(reinterpret_cast<void**>(&host), bytes, 0));
    if (argc > 2) {
        memset(host, 0x5a, bytes);
        between_peers(bytes, host);
    } else {
        CHECK(hipMalloc(reinterpret_cast<void**>(&device), bytes));
        // Once before the clock starts: the runtime makes its copy queues on first use.
        CHECK(hipMemcpy(device, host, 1 << 20, hipMemcpyHostToDevice));
        CHECK(hipMemcpy(host, device, 1 << 20, hipMemcpyDeviceToHost));
        memset(host, 0x5a, bytes);
        auto start = std::chrono::steady_clock::now();
        CHECK(hipMemcpy(device, host, bytes, hipMemcpyHostToDevice));
        memset(host, 0, bytes);
        CHECK(hipMemcpy(host, device, bytes, hipMemcpyDeviceToHost));
        printf("microseconds %ld\n", microseconds_since(start));
    }
    for (size_t i = 0; i < bytes; ++i) {
        if (host[i] != 0x5a) return 1;
    }
    return 0;
}

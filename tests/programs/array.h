// What the programs that call libraries share: device memory that is compared with what the host has
// computed, and a digest of all that was read from it.
#pragma once

#include <vector>

#include "soak/rounds.h"

inline uint64_t digest_of_round;

template <class T>
struct Array {
    T* data;

    // Not what any result would be.
    explicit Array(size_t n) {
        CHECK(hipMalloc(&data, n * sizeof(T)));
        CHECK(hipMemset(data, 0xcc, n * sizeof(T)));
    }
    explicit Array(const std::vector<T>& from) : Array(from.size()) {
        CHECK(hipMemcpy(data, from.data(), from.size() * sizeof(T), hipMemcpyHostToDevice));
    }
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;
    ~Array() { CHECK(hipFree(data)); }

    std::vector<T> read(size_t n) const {
        std::vector<T> host(n);
        CHECK(hipMemcpy(host.data(), data, n * sizeof(T), hipMemcpyDeviceToHost));
        auto bytes = reinterpret_cast<const unsigned char*>(host.data());
        for (size_t i = 0; i < n * sizeof(T); ++i) {
            digest_of_round = (digest_of_round ^ bytes[i]) * 1099511628211u;
        }
        return host;
    }

    void expect(const char* what, const std::vector<T>& expected) const {
        auto is = read(expected.size());
        for (size_t i = 0; i < is.size(); ++i) {
            if (is[i] == expected[i]) continue;
            fprintf(stderr, "%s: element %zu of %zu is wrong\n", what, i, is.size());
            exit(1);
        }
    }
};

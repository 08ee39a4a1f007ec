// Copies of all directions and sizes, at once on several streams, from pageable and pinned memory,
// with long ones among them that take several pieces.
//
//   copies [ROUNDS]
#include <thread>
#include <vector>

#include "rounds.h"

constexpr size_t kWords = 1 << 19;

static uint64_t of_host(const unsigned* words, size_t n) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; ++i) sum = sum * 31 + words[i];
    return sum;
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 40);
    CHECK(hipInit(0));
    unsigned *a = words_of(kWords, 1), *b = words_of(kWords, 2), *pinned;
    CHECK(hipHostMalloc(&pinned, kWords * 4, 0));
    std::vector<unsigned> pageable(kWords), back(kWords);
    for (size_t i = 0; i < kWords; ++i) pageable[i] = pinned[i] = mix(i);
    hipStream_t streams[2];
    for (hipStream_t& stream : streams) {
        CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    }
    for (unsigned round = 0; round < rounds; ++round) {
        unsigned draw = mix(round);
        size_t size = 4 + (draw >> 4) % (1u << (4 + draw % 15));
        size_t from = mix(draw) % (kWords - size / 4 - 1), to = mix(draw + 1) % (kWords - size / 4 - 1);
        std::thread other([&] {
            CHECK(hipMemcpyAsync(b + to, pinned + from, size, hipMemcpyHostToDevice, streams[0]));
            advance_words<<<1, 256, 0, streams[0]>>>(b + to, size / 4, round);
            CHECK(hipMemcpyAsync(pinned + from, b + to, size, hipMemcpyDeviceToHost, streams[0]));
            CHECK(hipStreamSynchronize(streams[0]));
        });
        CHECK(hipMemcpy(a + from, pageable.data() + to, size, hipMemcpyHostToDevice));
        CHECK(hipMemcpyDtoDAsync(a + (to / 2), a + (kWords + from) / 2 - size / 4, size / 2, streams[1]));
        CHECK(hipMemsetD32Async(a + from, round, size / 8 + 1, streams[1]));
        // On another stream, which nothing but the host orders with this one.
        CHECK(hipStreamSynchronize(streams[1]));
        CHECK(hipMemsetD8(a + to / 4 * 4, round, 48));
        CHECK(hipStreamSynchronize(nullptr));
        CHECK(hipMemcpyWithStream(back.data(), a + from, size, hipMemcpyDeviceToHost, streams[1]));
        pageable[round] += back[0];
        other.join();
        say_round(round, of_host(back.data(), size / 4) + of_host(pinned + from, size / 4));
    }
    say_round(rounds, digest(a, kWords) + 3 * digest(b, kWords) + of_host(pinned, kWords));
}

// Allocations that come, go and grow from two threads, contents handed on; addresses are used again
// at once by others.
//
//   churn [ROUNDS]
#include <thread>
#include <vector>

#include "rounds.h"

constexpr unsigned kSlots = 12;
// More than the runtime keeps for later: what is freed is the driver's again at once.
constexpr size_t kBigBytes = 6 << 20;
constexpr unsigned kBigWords = 1 << 12;

static uint64_t work(unsigned who, unsigned rounds, bool say) {
    std::vector<unsigned*> slots(kSlots, nullptr);
    std::vector<unsigned> sizes(kSlots, 0);
    hipStream_t stream;
    CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    uint64_t sum = 0;
    unsigned* big = nullptr;
    for (unsigned round = 0; round < rounds; ++round) {
        if (big) {
            sum = sum * 31 + digest(big, kBigWords, stream);
            CHECK(hipFree(big));
        }
        CHECK(hipMalloc(&big, kBigBytes));
        fill_words<<<2, 256, 0, stream>>>(big, kBigWords, round + who);
        for (unsigned turn = 0; turn < 4; ++turn) {
            unsigned draw = mix(round * 97 + turn * 13 + who * 7919);
            unsigned s = draw % kSlots;
            unsigned size = draw % 7 == 0 ? 0 : 64 + (draw >> 8) % (1 << (6 + draw % 11));
            unsigned* next = nullptr;
            if (size) {
                CHECK(hipMalloc(&next, size * 4));
                fill_words<<<2, 256, 0, stream>>>(next, size, draw);
                unsigned common = size < sizes[s] ? size : sizes[s];
                if (common) {
                    CHECK(hipMemcpyAsync(next, slots[s], common * 4, hipMemcpyDeviceToDevice,
                                         stream));
                }
                advance_words<<<2, 256, 0, stream>>>(next, size, round);
                CHECK(hipGetLastError());
                CHECK(hipStreamSynchronize(stream));
            }
            if (slots[s]) CHECK(hipFree(slots[s]));
            slots[s] = next;
            sizes[s] = size;
        }
        unsigned s = mix(round) % kSlots;
        if (sizes[s]) sum = sum * 31 + digest(slots[s], sizes[s], stream);
        if (say) say_round(round, sum);
    }
    for (unsigned s = 0; s < kSlots; ++s) {
        if (sizes[s]) sum = sum * 31 + digest(slots[s], sizes[s], stream);
    }
    return sum;
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 60);
    CHECK(hipInit(0));
    unsigned* idle = words_of(1 << 19, 3);
    uint64_t other = 0;
    std::thread thread([&] { other = work(1, rounds, false); });
    uint64_t mine = work(0, rounds, true);
    thread.join();
    say_round(rounds, mine + 3 * other + 5 * digest(idle, 1 << 19));
}

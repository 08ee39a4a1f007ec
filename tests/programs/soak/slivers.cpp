// Small pieces of big buffers, read, changed and written back in place, wherever a draw says.
//
//   slivers [ROUNDS]
#include "rounds.h"

constexpr unsigned kWords = 1 << 20;
constexpr unsigned kSliver = 192;

__global__ void touch(unsigned* words, unsigned first, unsigned round) {
    unsigned i = first + threadIdx.x;
    words[i] = words[i] * 1664525u + round;
}

// Only lanes of odd words write; the others keep what is there.
__global__ void touch_odd(unsigned* words, unsigned first, unsigned round) {
    unsigned i = first + threadIdx.x;
    if (words[i] & 1) words[i] += round;
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 120);
    unsigned *a = words_of(kWords, 1), *b = words_of(kWords, 2);
    unsigned draw = 12345;
    for (unsigned round = 0; round < rounds; ++round) {
        unsigned first = 0;
        for (int i = 0; i < 12; ++i) {
            draw = mix(draw + i);
            first = draw % (kWords - kSliver);
            touch<<<1, kSliver>>>(i % 2 ? a : b, first, round);
            touch_odd<<<1, kSliver>>>(i % 2 ? b : a, first + 17, round);
        }
        CHECK(hipGetLastError());
        say_round(round, digest(a + first, kSliver));
    }
    say_round(rounds, digest(a, kWords) ^ digest(b, kWords) * 3);
}

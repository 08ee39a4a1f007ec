// The program's own CPU stores into device memory, where a large BAR maps it; copies elsewhere. The
// buffers are big, so that a checkpoint is still copying when they are written.
//
//   stores [ROUNDS]
#include "rounds.h"

constexpr unsigned kWords = 1 << 19;

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 80);
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    unsigned* buffers[4];
    for (unsigned b = 0; b < 4; ++b) buffers[b] = words_of(kWords, b);
    unsigned draw = 99;
    for (unsigned round = 0; round < rounds; ++round) {
        uint64_t sum = 0;
        for (int i = 0; i < 8; ++i) {
            draw = mix(draw + i);
            unsigned* word = buffers[draw % 4] + (draw >> 2) % kWords;
            unsigned value = 0;
            CHECK(hipMemcpy(&value, word, sizeof(value), hipMemcpyDeviceToHost));
            sum = sum * 31 + value;
            value = value * 1664525u + round;
            if (properties.isLargeBar) {
                *reinterpret_cast<volatile unsigned*>(word) = value;
                __sync_synchronize();
            } else {
                CHECK(hipMemcpy(word, &value, sizeof(value), hipMemcpyHostToDevice));
            }
        }
        say_round(round, sum);
    }
    uint64_t sum = 0;
    for (unsigned* words : buffers) sum = sum * 31 + digest(words, kWords);
    say_round(rounds, sum);
}

// Uses a function that is not modelled, and works on: no checkpoint, and nothing else is different.
//
//   foreign [ROUNDS]
#include "rounds.h"

constexpr unsigned kWords = 1 << 15;

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 40);
    unsigned* words = words_of(kWords, 1);
    hipEvent_t event;
    CHECK(hipEventCreate(&event));
    hipIpcEventHandle_t handle;
    // Whether it works here or not: it was called.
    (void)hipIpcGetEventHandle(&handle, event);
    (void)hipGetLastError();
    for (unsigned round = 0; round < rounds; ++round) {
        advance_words<<<2, 256>>>(words, kWords, round);
        say_round(round, digest(words, kWords));
    }
}

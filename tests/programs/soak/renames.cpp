// What trainers do with their own checkpoints: a file is written beside the last one, renamed over it
// when it is whole, and read again. Another is made for a moment only, closed, read and removed. Time
// passes at each step.
//
//   renames [ROUNDS]
#include <unistd.h>

#include "rounds.h"

constexpr unsigned kWords = 1 << 14;

static bool step(bool done, const char* what) {
    if (!done) perror(what);
    return done;
}

static void pass(unsigned seed) { usleep(mix(seed) % 8000); }

// Writes the words in two halves to `path`.
static bool write_file(const char* path, const unsigned* words, unsigned seed) {
    FILE* file = fopen(path, "wb");
    if (!step(file, path)) return false;
    bool written = fwrite(words, 4, kWords / 2, file) == kWords / 2;
    fflush(file);
    pass(seed);
    written = written && fwrite(words + kWords / 2, 4, kWords / 2, file) == kWords / 2;
    return step(written && fclose(file) == 0, path);
}

static bool sum_file(const char* path, uint64_t& sum) {
    FILE* file = fopen(path, "rb");
    if (!step(file, path)) return false;
    unsigned word, read = 0;
    for (; fread(&word, 4, 1, file) == 1; ++read) sum = sum * 31 + word;
    fclose(file);
    return step(read == kWords, path);
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 40);
    unsigned* words = words_of(kWords, 3);
    static unsigned copy[kWords];
    uint64_t sum = 0;
    for (unsigned round = 0; round < rounds; ++round) {
        advance_words<<<4, 256>>>(words, kWords, round);
        CHECK(hipGetLastError());
        CHECK(hipMemcpy(copy, words, sizeof copy, hipMemcpyDeviceToHost));
        if (!write_file("weights.tmp", copy, round)) return 1;
        pass(round + 1);
        if (!step(rename("weights.tmp", "weights") == 0, "rename")) return 1;
        if (!write_file("scratch", copy, round + 2)) return 1;
        pass(round + 3);
        if (!sum_file("scratch", sum) || !step(unlink("scratch") == 0, "unlink")) return 1;
        if (!sum_file("weights", sum)) return 1;
        say_round(round, sum);
    }
    say_round(rounds, digest(words, kWords) + sum);
}

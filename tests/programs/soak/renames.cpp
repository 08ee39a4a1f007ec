// What trainers do with their own checkpoints: a file is written beside the last one, renamed over it
// when it is whole, and read again. Another is made for a while only, read and removed. Time passes at
// each step, and between them nobody has the file.
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

// Writes the words in two halves.
static void write_to(const char* path, const unsigned* words, unsigned seed) {
    FILE* file = fopen(path, "wb");
    if (!step(file, path)) exit(1);
    bool whole = fwrite(words, 4, kWords / 2, file) == kWords / 2;
    fflush(file);
    pass(seed);
    whole = whole && fwrite(words + kWords / 2, 4, kWords / 2, file) == kWords / 2;
    if (!step(fclose(file) == 0 && whole, path)) exit(1);
    pass(seed + 1);
}

static uint64_t sum_of(FILE* file, const char* path, unsigned seed) {
    if (!step(file, path)) exit(1);
    uint64_t sum = 0;
    unsigned word, read = 0;
    for (; fread(&word, 4, 1, file) == 1; ++read) {
        sum = sum * 31 + word;
        if (read == kWords / 2) pass(seed);
    }
    if (!step(read == kWords, path)) exit(1);
    return sum;
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
        write_to("weights.tmp", copy, 4 * round);
        if (!step(rename("weights.tmp", "weights") == 0, "rename")) return 1;
        pass(4 * round + 2);
        FILE* weights = fopen("weights", "rb");
        sum = sum * 7 + sum_of(weights, "weights", round);
        fclose(weights);
        write_to("scratch", copy, 4 * round + 1);
        FILE* scratch = fopen("scratch", "rb");
        sum = sum * 7 + sum_of(scratch, "scratch", round);
        if (!step(unlink("scratch") == 0, "unlink")) return 1;
        pass(4 * round + 3);
        rewind(scratch);
        sum = sum * 7 + sum_of(scratch, "scratch", round);
        fclose(scratch);
        say_round(round, sum);
    }
    say_round(rounds, digest(words, kWords) + sum);
}

// The CPU's side: files that are written, read, mapped and removed, a pipe to itself, a timer and
// signals, and threads that wait for each other, while the device works.
//
//   files [ROUNDS]
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "rounds.h"

constexpr unsigned kWords = 1 << 16;
static volatile sig_atomic_t signals = 0;

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 60);
    unsigned* words = words_of(kWords, 1);
    unsigned* idle = words_of(1 << 19, 2);
    int log = open("journal", O_CREAT | O_TRUNC | O_RDWR | O_APPEND, 0600);
    int removed = open("removed", O_CREAT | O_TRUNC | O_RDWR, 0600);
    unlink("removed");
    int ends[2];
    if (log < 0 || removed < 0 || pipe(ends) || ftruncate(removed, 8192)) return 1;
    void* map = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, removed, 0);
    if (map == MAP_FAILED) return 1;
    unsigned* mapped = static_cast<unsigned*>(map);
    signal(SIGUSR2, [](int) { signals = signals + 1; });
    unsigned carried = 1;
    if (write(ends[1], &carried, 4) != 4) return 1;
    for (unsigned round = 0; round < rounds; ++round) {
        advance_words<<<4, 256>>>(words, kWords, round);
        CHECK(hipGetLastError());
        raise(SIGUSR2);
        unsigned value = 0;
        if (read(ends[0], &value, 4) != 4) return 1;
        value = value * 31 + round;
        mapped[round * 16] = value;
        if (write(ends[1], &value, 4) != 4 || write(log, &value, 4) != 4) return 1;
        uint64_t sum = digest(words + round, 1024) + value + signals;
        say_round(round, sum);
    }
    uint64_t sum = digest(idle, 1 << 19) + digest(words, kWords);
    unsigned value = 0;
    lseek(log, 0, SEEK_SET);
    while (read(log, &value, 4) == 4) sum = sum * 31 + value;
    for (unsigned i = 0; i < 2048; ++i) sum = sum * 31 + mapped[i];
    say_round(rounds, sum);
}

// Forks while the device is at work: children that leave at once, children that become another
// program, and one that lives as long as a round.
//
//   children [ROUNDS]
#include <sys/wait.h>
#include <unistd.h>

#include "rounds.h"

constexpr unsigned kWords = 1 << 17;

static int end_of(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 50);
    unsigned* words = words_of(kWords, 1);
    for (unsigned round = 0; round < rounds; ++round) {
        advance_words<<<4, 256>>>(words, kWords, round);
        CHECK(hipGetLastError());
        pid_t child = fork();
        if (child == 0) {
            if (round % 3 == 1) usleep(30000);
            if (round % 3 == 2) execlp("true", "true", nullptr);
            _exit(round % 100);
        }
        int code = end_of(child);
        if (round % 3 != 2 && code != (int)(round % 100)) return 1;
        if (round % 3 == 2 && code != 0) return 1;
        say_round(round, digest(words + round * 64, 4096));
    }
    say_round(rounds, digest(words, kWords));
}

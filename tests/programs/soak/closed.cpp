// A program without descriptors 0, 1 and 2, as daemons are; something in it writes there all the same,
// to nobody, all the time.
//
//   closed [ROUNDS]
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "rounds.h"

constexpr unsigned kWords = 1 << 16;

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 60);
    unsigned* words = words_of(kWords, 5);
    int out = fcntl(1, F_DUPFD, 100);
    if (out < 0 || !(stdout = fdopen(out, "w"))) return 1;
    for (int number = 0; number < 3; ++number) close(number);
    std::thread([] {
        char text[600];
        memset(text, 'x', sizeof text);
        for (;;) {
            for (int number = 0; number < 3; ++number) {
                if (write(number, text, number == 1 ? 40 : sizeof text) > 0) dprintf(100, "somebody reads %d\n", number);
            }
            usleep(500);
        }
    }).detach();
    for (unsigned round = 0; round < rounds; ++round) {
        advance_words<<<4, 256>>>(words, kWords, round);
        CHECK(hipGetLastError());
        say_round(round, digest(words + round, 1024));
    }
    say_round(rounds, digest(words, kWords));
    fflush(stdout);
    _exit(0);
}

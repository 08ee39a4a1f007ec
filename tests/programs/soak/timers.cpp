// A loop of events, as servers have one: a timer with a short period, a counter that a thread adds to
// and a signal, waited for with epoll, while the device works.
//
//   timers [ROUNDS]
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <thread>

#include "rounds.h"

constexpr unsigned kWords = 1 << 16;

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 60);
    unsigned* words = words_of(kWords, 9);
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    int counter = eventfd(0, EFD_NONBLOCK);
    int loop = epoll_create1(0);
    itimerspec period = {{0, 3000000}, {0, 3000000}};
    epoll_event ticks = {EPOLLIN, {}}, added = {EPOLLIN, {}};
    ticks.data.fd = timer;
    added.data.fd = counter;
    if (timer < 0 || counter < 0 || timerfd_settime(timer, 0, &period, nullptr) ||
        epoll_ctl(loop, EPOLL_CTL_ADD, timer, &ticks) || epoll_ctl(loop, EPOLL_CTL_ADD, counter, &added)) {
        return 1;
    }
    for (unsigned round = 0; round < rounds; ++round) {
        advance_words<<<4, 256>>>(words, kWords, round);
        CHECK(hipGetLastError());
        std::thread([&] {
            uint64_t value = round + 1;
            if (write(counter, &value, 8) != 8) _exit(2);
        }).join();
        uint64_t ticked = 0, sum = 0;
        while (!ticked || !sum) {
            epoll_event event;
            int ready = epoll_wait(loop, &event, 1, 5000);
            if (ready < 0 && errno == EINTR) continue;
            if (ready == 0) {
                fprintf(stderr, "round %u: nothing happens\n", round);
                return 1;
            }
            uint64_t value = 0;
            if (read(event.data.fd, &value, 8) == 8) (event.data.fd == timer ? ticked : sum) += value;
        }
        say_round(round, digest(words + round, 1024) + sum);
    }
    say_round(rounds, digest(words, kWords));
}

// Threads that wait, each in another system call, for what comes at the end only, or for a short time again and again,
// while the device works. No signal has a handler: none of these calls may ever say that there was one.
//
//   waiting [ROUNDS]
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <functional>
#include <thread>
#include <vector>

#include "rounds.h"

constexpr unsigned kWords = 1 << 16;

static std::atomic<unsigned> interrupted{0};
static std::atomic<bool> over{false};

static void count(const char* call, int result) {
    if (result >= 0 || over) return;
    fprintf(stderr, "%s: %s\n", call, strerror(errno));
    ++interrupted;
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 60);
    sigset_t awaited;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &awaited, nullptr);
    unsigned* words = words_of(kWords, 5);
    int ends[2];
    sem_t semaphore;
    int loop = epoll_create1(0);
    epoll_event readable = {EPOLLIN, {}};
    if (pipe(ends) || sem_init(&semaphore, 0, 0) || epoll_ctl(loop, EPOLL_CTL_ADD, ends[0], &readable)) return 1;
    timespec later;
    clock_gettime(CLOCK_REALTIME, &later);
    later.tv_sec += 24 * 3600;

    std::vector<std::thread> threads;
    auto until_over = [&](const char* call, std::function<int()> wait) {
        threads.emplace_back([=] {
            while (!over) count(call, wait());
        });
    };
    until_over("poll", [&] {
        pollfd end = {ends[0], POLLIN, 0};
        return poll(&end, 1, -1);
    });
    until_over("ppoll", [&] {
        pollfd end = {ends[0], POLLIN, 0};
        return ppoll(&end, 1, nullptr, nullptr);
    });
    until_over("epoll_wait", [&] {
        epoll_event event;
        return epoll_wait(loop, &event, 1, -1);
    });
    until_over("epoll_pwait", [&] {
        epoll_event event;
        sigset_t none;
        sigemptyset(&none);
        return epoll_pwait(loop, &event, 1, -1, &none);
    });
    until_over("sem_timedwait", [&] { return sem_timedwait(&semaphore, &later); });
    until_over("sigwaitinfo", [&] { return sigwaitinfo(&awaited, nullptr); });
    // Not to the process: threads of the runtime do not block it.
    pthread_t awaiting = threads.back().native_handle();
    until_over("nanosleep", [&] {
        timespec left = {0, 70000000};
        return nanosleep(&left, &left);
    });
    for (unsigned round = 0; round < rounds; ++round) {
        advance_words<<<4, 256>>>(words, kWords, round);
        CHECK(hipGetLastError());
        usleep(20000);
        say_round(round, digest(words + round, 1024) + interrupted);
    }
    over = true;
    sem_post(&semaphore);
    pthread_kill(awaiting, SIGUSR2);
    if (write(ends[1], "x", 1) != 1) return 2;
    for (std::thread& thread : threads) thread.join();
    say_round(rounds, digest(words, kWords));
}

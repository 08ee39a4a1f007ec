// A program that ends with code 7 when there is a file, in one of these ways:
//   ends main FILE      returns from main
//   ends exit FILE      calls exit
//   ends thread FILE    calls exit on another thread
//   ends handler FILE   calls exit, and a handler of a signal does so again meanwhile
//   ends second FILE    calls exit while another thread's is in a slow handler
//   ends cancelled FILE calls exit on another thread, which is cancelled meanwhile
// It says "ready" before.
#include <pthread.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "check.h"

static void exit_again(int) { exit(7); }

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    void* memory;
    CHECK(hipMalloc(&memory, 4096));
    say("ready");
    while (access(argv[2], F_OK)) usleep(500);
    if (!strcmp(argv[1], "exit")) exit(7);
    if (!strcmp(argv[1], "thread")) std::thread([] { exit(7); }).join();
    if (!strcmp(argv[1], "second")) {
        atexit([] { usleep(1500000); });
        std::thread([] { exit(7); }).detach();
        usleep(100000);
        exit(7);
    }
    if (!strcmp(argv[1], "cancelled")) {
        pthread_t thread;
        if (pthread_create(&thread, nullptr, [](void*) -> void* { exit(7); }, nullptr)) return 2;
        if (pthread_cancel(thread)) return 2;
        pause();
    }
    if (!strcmp(argv[1], "handler")) {
        signal(SIGALRM, exit_again);
        itimerval often = {{0, 30000}, {0, 30000}};
        setitimer(ITIMER_REAL, &often, nullptr);
        exit(7);
    }
    return 7;
}

// A program with a descriptor that CRIU would bring back as something else, or not at all:
//   descriptors semaphore    an eventfd that counts down by one
//   descriptors boottime     a timer of CLOCK_BOOTTIME
//   descriptors news         an inotify that has something to tell
//   descriptors nameless     a file without a name
// It says "ready", runs until SIGTERM, and then ends well.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "check.h"

__global__ void count(unsigned* words) { words[threadIdx.x] += 1; }

static volatile sig_atomic_t told = 0;

static int descriptor(const char* kind) {
    if (!strcmp(kind, "semaphore")) return eventfd(3, EFD_SEMAPHORE);
    if (!strcmp(kind, "boottime")) return timerfd_create(CLOCK_BOOTTIME, 0);
    if (!strcmp(kind, "nameless")) return open(".", O_TMPFILE | O_WRONLY, 0600);
    if (strcmp(kind, "news")) return -1;
    int inotify = inotify_init1(0);
    if (inotify_add_watch(inotify, ".", IN_CREATE) < 0) return -1;
    int file = open("created", O_CREAT | O_WRONLY, 0600);
    if (file < 0 || close(file)) return -1;
    return inotify;
}

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    signal(SIGTERM, [](int) { told = 1; });
    unsigned* words;
    CHECK(hipMalloc(&words, 64 * sizeof(unsigned)));
    CHECK(hipMemset(words, 0, 64 * sizeof(unsigned)));
    if (descriptor(argv[1]) < 0) return 1;
    say("ready");
    while (!told) {
        count<<<1, 64>>>(words);
        CHECK(hipDeviceSynchronize());
        usleep(1000);
    }
}

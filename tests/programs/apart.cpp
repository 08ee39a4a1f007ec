// A program one of whose threads is not like the others:
//   apart files      has a table of open files of its own
//   apart folder     has a working directory of its own
//   apart leader     is the only one left: main has ended
// It says "apart", runs until SIGTERM, and then ends well.
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "check.h"

__global__ void count(unsigned* words) { words[threadIdx.x] += 1; }

static volatile sig_atomic_t told = 0;

static void* run(void* kind) {
    const char* what = (const char*)kind;
    if (!strcmp(what, "files") && unshare(CLONE_FILES)) return nullptr;
    if (!strcmp(what, "folder") && unshare(CLONE_FS)) return nullptr;
    unsigned* words;
    CHECK(hipMalloc(&words, 64 * sizeof(unsigned)));
    CHECK(hipMemset(words, 0, 64 * sizeof(unsigned)));
    say("apart");
    while (!told) {
        count<<<1, 64>>>(words);
        CHECK(hipDeviceSynchronize());
        usleep(1000);
    }
    exit(0);
}

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    signal(SIGTERM, [](int) { told = 1; });
    pthread_t thread;
    if (pthread_create(&thread, nullptr, run, argv[1])) return 1;
    if (!strcmp(argv[1], "leader")) pthread_exit(nullptr);
    pthread_join(thread, nullptr);
    return 1;
}

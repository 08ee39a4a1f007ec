// A child forked from a program whose device is at work. It lives as long as the program and says at
// the end what it has kept.
//
//   family ROUNDS LOG [inherits|both|zombie]
//
// `inherits`: the child gets the program's mappings of device memory too. `both`: it was forked before
// and uses the device itself. `zombie`: another child ends at once, with code 200, and is waited for at
// the end.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "check.h"

__global__ void add(unsigned* word, unsigned by) { *word = *word * 3 + by; }

static void expect(bool right, const char* what) {
    if (right) return;
    perror(what);
    exit(1);
}

static void let_device_memory_be_inherited() {
    FILE* maps = fopen("/proc/self/maps", "r");
    expect(maps != nullptr, "maps");
    char line[512];
    while (fgets(line, sizeof line, maps)) {
        unsigned long start = 0, end = 0;
        if (strstr(line, "/dev/dri/renderD") && sscanf(line, "%lx-%lx", &start, &end) == 2)
            expect(madvise((void*)start, end - start, MADV_DOFORK) == 0, "madvise");
    }
    fclose(maps);
}

// The child: what it has read, at the end.
static int listens(int from) {
    unsigned sum = 0, number;
    while (read(from, &number, sizeof number) == sizeof number) sum = sum * 5 + number;
    return sum % 100;
}

int main(int argc, char** argv) {
    expect(argc >= 3, "arguments");
    unsigned rounds = (unsigned)atoi(argv[1]);
    FILE* log = fopen(argv[2], "a");
    expect(log != nullptr, argv[2]);
    setvbuf(log, nullptr, _IOLBF, 0);
    bool inherits = argc > 3 && !strcmp(argv[3], "inherits");
    bool both = argc > 3 && !strcmp(argv[3], "both");
    int ends[2];
    expect(pipe(ends) == 0, "pipe");
    pid_t child = both ? fork() : -1;
    unsigned* word;
    CHECK(hipMalloc(&word, sizeof *word));
    CHECK(hipMemset(word, 0, sizeof *word));
    add<<<1, 1>>>(word, 1);
    CHECK(hipDeviceSynchronize());
    if (inherits) let_device_memory_be_inherited();
    if (!both) child = fork();
    if (child == 0) {
        close(ends[1]);
        _exit(listens(ends[0]));
    }
    close(ends[0]);
    pid_t dead = argc > 3 && !strcmp(argv[3], "zombie") ? fork() : -1;
    if (dead == 0) _exit(200);
    unsigned sum = 0;
    for (unsigned round = 0; round < rounds_in_all(argv[2], rounds); ++round) {
        add<<<1, 1>>>(word, round);
        unsigned now;
        CHECK(hipMemcpy(&now, word, sizeof now, hipMemcpyDeviceToHost));
        expect(write(ends[1], &now, sizeof now) == sizeof now, "write");
        sum = sum * 5 + now;
        fprintf(log, "round %u %u\n", round, now);
        usleep(20000);
    }
    close(ends[1]);
    int status = 0;
    expect(waitpid(child, &status, 0) == child, "waitpid");
    expect(WIFEXITED(status) && WEXITSTATUS(status) == (int)(sum % 100), "the child");
    if (dead > 0) {
        expect(waitpid(dead, &status, 0) == dead, "waitpid");
        expect(WIFEXITED(status) && WEXITSTATUS(status) == 200, "the dead child");
    }
    fprintf(log, "end\n");
}

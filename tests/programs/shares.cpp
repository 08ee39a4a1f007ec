// Files that are more than a log of one process: a child forked before the first call of HIP holds
// the log too, and a counter is changed in place, through a descriptor or through a mapping whose
// descriptor is closed.
//
//   shares ROUNDS LOG COUNTER descriptor|mapping
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "check.h"

__global__ void add(unsigned* word, unsigned by) { *word = *word * 3 + by; }

static void expect(bool right, const char* what) {
    if (right) return;
    perror(what);
    exit(1);
}

int main(int argc, char** argv) {
    expect(argc == 5, "arguments");
    unsigned rounds = (unsigned)atoi(argv[1]);
    int log = open(argv[2], O_WRONLY | O_CREAT | O_APPEND, 0644);
    expect(log >= 0, argv[2]);
    int ends[2];
    expect(pipe(ends) == 0, "pipe");
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        char byte;
        _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
    }
    int counter = open(argv[3], O_RDWR | O_CREAT, 0644);
    expect(counter >= 0 && ftruncate(counter, sizeof(uint64_t)) == 0, argv[3]);
    uint64_t* mapped = nullptr;
    if (strcmp(argv[4], "mapping") == 0) {
        mapped = (uint64_t*)mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, counter, 0);
        expect(mapped != MAP_FAILED, "mmap");
        close(counter);
    }
    unsigned* word;
    CHECK(hipMalloc(&word, sizeof *word));
    CHECK(hipMemset(word, 0, sizeof *word));
    for (unsigned round = 0; round < rounds_in_all(argv[2], rounds); ++round) {
        uint64_t count = 0;
        if (mapped) {
            count = ++*mapped;
        } else {
            expect(pread(counter, &count, sizeof count, 0) == sizeof count, "pread");
            ++count;
            expect(pwrite(counter, &count, sizeof count, 0) == sizeof count, "pwrite");
        }
        add<<<1, 1>>>(word, (unsigned)count);
        unsigned now;
        CHECK(hipMemcpy(&now, word, sizeof now, hipMemcpyDeviceToHost));
        dprintf(log, "round %u %u\n", round, now);
        usleep(20000);
    }
    close(ends[1]);
    int status = 0;
    expect(waitpid(child, &status, 0) == child && status == 0, "the child");
    dprintf(log, "end\n");
}

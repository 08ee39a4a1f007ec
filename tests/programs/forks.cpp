// A parent that uses the device and a child, forked before and after, that must not be touched.
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

__global__ void set(unsigned* word, unsigned value) { *word = value; }

static int child_ends_with(int code) {
    pid_t pid = fork();
    if (pid == 0) _exit(code);
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main() {
    int early = child_ends_with(3);
    unsigned* word;
    CHECK(hipMalloc(&word, sizeof(unsigned)));
    set<<<1, 1>>>(word, 41);
    CHECK(hipDeviceSynchronize());
    int late = child_ends_with(4);
    set<<<1, 1>>>(word, 42);
    unsigned got = 0;
    CHECK(hipMemcpy(&got, word, sizeof(got), hipMemcpyDeviceToHost));
    printf("forks early=%d late=%d word=%u\n", early, late, got);
    return early != 3 || late != 4 || got != 42;
}

// Forks after the device was used: one child only leaves, one becomes another program.
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"

__global__ void increment(unsigned* word) { *word += 1; }

static int end_of(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main() {
    unsigned* word;
    CHECK(hipMalloc(&word, sizeof(unsigned)));
    CHECK(hipMemset(word, 0, sizeof(unsigned)));
    increment<<<1, 1>>>(word);
    CHECK(hipDeviceSynchronize());
    pid_t child = fork();
    // Not by exit: HIP's own destructors fail in a forked child.
    if (child == 0) _exit(0);
    int left = end_of(child);
    child = fork();
    if (child == 0) {
        execlp("true", "true", nullptr);
        _exit(1);
    }
    int other = end_of(child);
    increment<<<1, 1>>>(word);
    unsigned got = 0;
    CHECK(hipMemcpy(&got, word, sizeof(got), hipMemcpyDeviceToHost));
    printf("child %d exec %d parent %u\n", left, other, got);
    return left || other || got != 2;
}

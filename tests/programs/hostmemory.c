/* Baseline without a GPU: holds a given amount of host memory, all of it touched, and counts.
 *
 *   hostmemory MEGABYTES
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    size_t megabytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 64;
    size_t bytes = megabytes << 20;
    unsigned *words = malloc(bytes);
    if (!words) {
        perror("malloc");
        return 1;
    }
    for (size_t i = 0; i < bytes / sizeof *words; ++i)
        words[i] = (unsigned)i * 2654435761u;
    puts("ready");
    fflush(stdout);
    for (unsigned round = 0;; ++round) {
        words[round % (bytes / sizeof *words)] += 1;
        usleep(1000);
    }
}

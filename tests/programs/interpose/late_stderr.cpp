// Closes its stderr before it uses the GPU, so that descriptor 2 becomes another file: one of its own,
// or, without one, whatever HIP opens next.
//
//   late_stderr [FILE]
#include <fcntl.h>
#include <unistd.h>

#include "../check.h"

__global__ void add(unsigned* words) { words[threadIdx.x] += threadIdx.x; }

int main(int argc, char** argv) {
    close(2);
    if (argc > 1) {
        int file = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (file != 2 || write(file, "mine\n", 5) != 5) return 1;
    }
    unsigned* words;
    CHECK(hipMalloc(&words, 256));
    CHECK(hipMemset(words, 0, 256));
    for (int i = 0; i < 3; ++i) add<<<1, 64>>>(words);
    unsigned host[64];
    CHECK(hipMemcpy(host, words, 256, hipMemcpyDeviceToHost));
    printf("last %u\n", host[63]);
    CHECK(hipFree(words));
}

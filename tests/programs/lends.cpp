// Two processes that have nothing in common but a file with a handle: one lends the other memory.
//
//   lends lend|borrow FILE
#include <unistd.h>

#include <cstring>

#include "check.h"

__global__ void count_up(unsigned* word) { *word += 1; }

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    unsigned* word;
    hipIpcMemHandle_t handle;
    if (strcmp(argv[1], "lend") == 0) {
        CHECK(hipMalloc(&word, sizeof *word));
        CHECK(hipMemset(word, 0, sizeof *word));
        CHECK(hipIpcGetMemHandle(&handle, word));
        FILE* file = fopen(argv[2], "w");
        if (!file || fwrite(&handle, sizeof handle, 1, file) != 1 || fclose(file)) return 1;
        say("lent");
    } else {
        FILE* file = fopen(argv[2], "r");
        if (!file || fread(&handle, sizeof handle, 1, file) != 1 || fclose(file)) return 1;
        CHECK(hipIpcOpenMemHandle(reinterpret_cast<void**>(&word), handle, hipIpcMemLazyEnablePeerAccess));
        say("borrowed");
    }
    for (;;) {
        count_up<<<1, 1>>>(word);
        CHECK(hipDeviceSynchronize());
        usleep(20000);
    }
}

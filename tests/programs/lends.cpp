// Two processes that have nothing in common but a file with a handle: one lends the other memory.
//
//   lends lend|borrow FILE          by HIP's handles
//   lends lend-hsa|borrow-hsa FILE  by those of the runtime below, which HIP has no part in
#include <dlfcn.h>
#include <hsa/hsa_ext_amd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "check.h"

// An allocation is a page at least.
constexpr size_t kBytes = 4096;

__global__ void count_up(unsigned* word) { *word += 1; }

// HIP has loaded the runtime; this program is linked with HIP alone.
#define HSA(name) (reinterpret_cast<decltype(&name)>(dlsym(RTLD_DEFAULT, #name)))

static void checked(hsa_status_t status) {
    if (status == HSA_STATUS_SUCCESS) return;
    fprintf(stderr, "the runtime answers %#x\n", status);
    exit(1);
}

template <typename Handle>
static bool write_to(const char* path, const Handle& handle) {
    FILE* file = fopen(path, "w");
    return file && fwrite(&handle, sizeof handle, 1, file) == 1 && !fclose(file);
}

template <typename Handle>
static bool read_from(const char* path, Handle* handle) {
    FILE* file = fopen(path, "r");
    return file && fread(handle, sizeof *handle, 1, file) == 1 && !fclose(file);
}

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    unsigned* word;
    hipIpcMemHandle_t handle;
    hsa_amd_ipc_memory_t below;
    bool lends = strncmp(argv[1], "lend", 4) == 0, is_below = strstr(argv[1], "-hsa");
    if (lends) {
        CHECK(hipMalloc(&word, kBytes));
        CHECK(hipMemset(word, 0, kBytes));
    } else {
        CHECK(hipFree(nullptr));
    }
    if (lends && is_below) {
        checked(HSA(hsa_amd_ipc_memory_create)(word, kBytes, &below));
        if (!write_to(argv[2], below)) return 1;
    } else if (lends) {
        CHECK(hipIpcGetMemHandle(&handle, word));
        if (!write_to(argv[2], handle)) return 1;
    } else if (is_below) {
        if (!read_from(argv[2], &below)) return 1;
        checked(HSA(hsa_amd_ipc_memory_attach)(
            &below, kBytes, 0, nullptr, reinterpret_cast<void**>(&word)));
    } else {
        if (!read_from(argv[2], &handle)) return 1;
        CHECK(hipIpcOpenMemHandle(reinterpret_cast<void**>(&word), handle, hipIpcMemLazyEnablePeerAccess));
    }
    say(lends ? "lent" : "borrowed");
    for (;;) {
        // What HIP does not know as memory no kernel of its may be given.
        if (!(is_below && !lends)) {
            count_up<<<1, 1>>>(word);
            CHECK(hipDeviceSynchronize());
        }
        usleep(20000);
    }
}

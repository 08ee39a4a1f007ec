// Wants most of the device's memory when it is told to (SIGUSR1), and says what it got. Free memory
// must not seem to change before that.
//
//   takes MEGABYTES MORE [HOW]     says "ready"; then "got" or "none", and "changed" if memory went away
//
// HOW is a function that allocates: malloc (if none is given), pitch, 3d, async, pool, flags or fine.
#include <csignal>
#include <string>
#include <unistd.h>

#include "check.h"

static volatile sig_atomic_t wanted = 0;

__global__ void fill(unsigned* words, size_t n) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        words[i] = (unsigned)i * 2654435761u;
    }
}

static size_t free_memory() {
    size_t free, total;
    CHECK(hipMemGetInfo(&free, &total));
    return free;
}

// Rows of a page each, where there are rows.
static hipError_t take(const std::string& how, unsigned** words, size_t bytes) {
    const size_t row = 4096;
    size_t pitch;
    if (how == "pitch") return hipMallocPitch((void**)words, &pitch, row, bytes / row);
    if (how == "3d") {
        hipPitchedPtr pitched;
        hipError_t error = hipMalloc3D(&pitched, make_hipExtent(row, bytes / row, 1));
        if (error == hipSuccess) *words = (unsigned*)pitched.ptr;
        return error;
    }
    if (how == "flags") return hipExtMallocWithFlags((void**)words, bytes, hipDeviceMallocDefault);
    if (how == "fine") {
        return hipExtMallocWithFlags((void**)words, bytes, hipDeviceMallocFinegrained);
    }
    if (how != "async" && how != "pool") return hipMalloc(words, bytes);
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    hipMemPool_t pool;
    CHECK(hipDeviceGetDefaultMemPool(&pool, 0));
    hipError_t error = how == "async"
        ? hipMallocAsync((void**)words, bytes, stream)
        : hipMallocFromPoolAsync((void**)words, bytes, pool, stream);
    CHECK(hipStreamSynchronize(stream));
    // HIP 5.2 answers success, and no memory, where there is none.
    return error == hipSuccess && !*words ? hipErrorOutOfMemory : error;
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    size_t bytes = strtoul(argv[1], nullptr, 10) << 20;
    size_t more = strtoul(argv[2], nullptr, 10) << 20;
    // Without it ROCr offers no fine-grained memory of devices behind PCIe.
    setenv("HSA_FORCE_FINE_GRAIN_PCIE", "1", 1);
    signal(SIGUSR1, [](int) { wanted = 1; });
    unsigned *words, *further;
    CHECK(hipMalloc(&words, bytes));
    fill<<<16, 256>>>(words, bytes / sizeof(unsigned));
    CHECK(hipDeviceSynchronize());
    size_t free = free_memory();
    say("ready");
    bool changed = false;
    while (!wanted) {
        usleep(1000);
        changed |= free_memory() != free;
    }
    if (changed) say("changed");
    hipError_t error = take(argc > 3 ? argv[3] : "malloc", &further, more);
    if (error == hipSuccess) {
        fill<<<16, 256>>>(further, more / sizeof(unsigned));
        CHECK(hipDeviceSynchronize());
    }
    say(error == hipSuccess ? "got" : "none");
    while (true) usleep(10000);
}

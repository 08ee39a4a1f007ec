// Several buffers that a restore may bring back one after the other, and what touches them in turn.
//
//   arrives BUFFERS KILOBYTES STEP...   fills them, logs "holding", and does the steps once there is a file "go":
//     read:B    a kernel looks at all of buffer B        write:B   a kernel writes a few words in the middle of it
//     end:B     a kernel looks at its last words          down:B    hipMemcpy of all of it to the host
//     up:B      hipMemcpy of a few words to its middle    set:B     hipMemset of the same
//     across:B  hipMemcpy of all of it to the next one    load:B    the CPU looks at its last word, mapped
//     store:B   the CPU writes its middle, mapped         free:B    hipFree, and a hipMalloc of as much
//     graph:B   what read:B does, in a graph              any:B     read:B by an address that nobody can foresee
//     again:B   waits until there is a file "again"       all:0     looks at all that is left
//     gives:B   the same as store:B, after SIGSEGV was given back to who had it before the program took it in the beginning
//     global:0  a kernel looks at a large `__device__` array
//     late:B    what end:B does, by a kernel that was launched in the beginning and has waited for this
//   Each logs "STEP right" or "STEP wrong N", and when it was done: milliseconds since 1970. Its log is "log".
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"

// Of the middle.
constexpr size_t kFew = 24;

struct Buffer {
    unsigned* words;
    unsigned seed;
    // What was put into its middle, if anything was.
    bool is_changed;
    unsigned changed;
};

__host__ __device__ static unsigned pattern(size_t i, unsigned seed) { return (unsigned)i * 2654435761u ^ seed; }

__global__ void fill(unsigned* words, size_t n, unsigned seed) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        words[i] = pattern(i, seed);
    }
}

// Words from `from` on against the pattern, but for those from `start` to `end`, which are all `changed`.
__global__ void compare(const unsigned* words, size_t from, size_t n, unsigned seed, size_t start, size_t end,
                        unsigned changed, unsigned* differ) {
    for (size_t i = from + blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned expected = i >= start && i < end ? changed : pattern(i, seed);
        if (words[i] != expected) atomicAdd(differ, 1u);
    }
}

constexpr size_t kGlobal = 1 << 17;
__device__ unsigned global[kGlobal];

__global__ void fill_global() {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < kGlobal; i += gridDim.x * blockDim.x) {
        global[i] = pattern(i, 5);
    }
}

__global__ void compare_global(unsigned* differ) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < kGlobal; i += gridDim.x * blockDim.x) {
        if (global[i] != pattern(i, 5)) atomicAdd(differ, 1u);
    }
}

__global__ void put(unsigned* words, unsigned n, unsigned value) {
    if (threadIdx.x < n) words[threadIdx.x] = value;
}

__global__ void compare_through(const unsigned* const* table, size_t n, unsigned seed, unsigned* differ) {
    const unsigned* words = table[0];
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (words[i] != pattern(i, seed)) atomicAdd(differ, 1u);
    }
}

__global__ void compare_late(unsigned* go_on, const unsigned* words, unsigned n, size_t from, unsigned seed,
                             unsigned* differ) {
    while (!__atomic_load_n(go_on, __ATOMIC_ACQUIRE)) __builtin_amdgcn_s_sleep(10);
    if (threadIdx.x < n && words[threadIdx.x] != pattern(from + threadIdx.x, seed)) atomicAdd(differ, 1u);
}

static bool is_there(const char* path) { return access(path, F_OK) == 0; }

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    size_t count = strtoul(argv[1], nullptr, 10);
    size_t n = (strtoul(argv[2], nullptr, 10) << 10) / sizeof(unsigned);
    size_t middle = n / 2 - kFew / 2;
    unsigned *differ, *host_differ;
    const unsigned** table;
    const unsigned** host_table;
    CHECK(hipMalloc(&differ, sizeof(unsigned)));
    CHECK(hipMalloc(&table, sizeof(*table)));
    CHECK(hipHostMalloc(&host_differ, sizeof(unsigned), 0));
    CHECK(hipHostMalloc(&host_table, sizeof(*host_table), 0));
    std::vector<Buffer> buffers(count);
    std::vector<unsigned> host(n);
    for (size_t b = 0; b < count; ++b) {
        buffers[b] = Buffer{nullptr, (unsigned)b * 7919u, false, 0};
        CHECK(hipMalloc(&buffers[b].words, n * sizeof(unsigned)));
        fill<<<16, 256>>>(buffers[b].words, n, buffers[b].seed);
    }
    fill_global<<<16, 256>>>();
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    CHECK(hipMemset(differ, 0, sizeof(unsigned)));
    // Everything has been used once.
    compare<<<16, 256>>>(buffers[0].words, 0, n, buffers[0].seed, 0, 0, 0, differ);
    CHECK(hipDeviceSynchronize());
    hipStream_t late;
    unsigned *late_go_on, *late_differ, *host_late_differ;
    CHECK(hipStreamCreateWithFlags(&late, hipStreamNonBlocking));
    CHECK(hipHostMalloc(&late_go_on, sizeof(unsigned), 0));
    CHECK(hipHostMalloc(&host_late_differ, sizeof(unsigned), 0));
    CHECK(hipMalloc(&late_differ, sizeof(unsigned)));
    CHECK(hipMemset(late_differ, 0, sizeof(unsigned)));
    CHECK(hipDeviceSynchronize());
    *late_go_on = 0;
    for (int step = 3; step < argc; ++step) {
        if (strncmp(argv[step], "late:", 5) != 0) continue;
        const Buffer& buffer = buffers[strtoul(argv[step] + 5, nullptr, 10) % count];
        size_t from = n - kFew;
        compare_late<<<1, 64, 0, late>>>(late_go_on, buffer.words + from, kFew, from, buffer.seed, late_differ);
    }
    struct sigaction takes = {}, before = {};
    takes.sa_handler = [](int) { _exit(3); };
    for (int step = 3; step < argc; ++step) {
        if (strncmp(argv[step], "gives:", 6) == 0) sigaction(SIGSEGV, &takes, &before);
    }
    FILE* log = fopen("log", "w");
    if (!log) return 2;
    setlinebuf(log);
    fputs("holding\n", log);
    while (!is_there("go")) usleep(2000);
    auto look = [&](const Buffer& buffer, size_t from, hipStream_t on) {
        size_t start = buffer.is_changed ? middle : 0, end = buffer.is_changed ? middle + kFew : 0;
        compare<<<16, 256, 0, on>>>(buffer.words, from, n, buffer.seed, start, end, buffer.changed, differ);
    };
    int result = 0;
    for (int step = 3; step < argc; ++step) {
        std::string what(argv[step], strcspn(argv[step], ":"));
        size_t b = strtoul(argv[step] + what.size() + 1, nullptr, 10);
        if (b >= count) return 2;
        Buffer& buffer = buffers[b];
        unsigned wrong = 0;
        CHECK(hipMemsetAsync(differ, 0, sizeof(unsigned), stream));
        CHECK(hipStreamSynchronize(stream));
        unsigned few[kFew];
        for (unsigned& word : few) word = 0x5a000000u + step;
        auto change = [&](unsigned value) {
            buffer.is_changed = true;
            buffer.changed = value;
        };
        if (what == "read") {
            look(buffer, 0, stream);
        } else if (what == "end") {
            look(buffer, n - kFew, stream);
        } else if (what == "all") {
            for (Buffer& each : buffers) {
                if (each.words) look(each, 0, stream);
            }
        } else if (what == "write") {
            put<<<1, 64, 0, stream>>>(buffer.words + middle, kFew, few[0]);
            change(few[0]);
        } else if (what == "up") {
            CHECK(hipMemcpy(buffer.words + middle, few, sizeof(few), hipMemcpyHostToDevice));
            change(few[0]);
        } else if (what == "set") {
            CHECK(hipMemset(buffer.words + middle, 0x33, kFew * sizeof(unsigned)));
            change(0x33333333u);
        } else if (what == "store" || what == "gives") {
            if (what == "gives") sigaction(SIGSEGV, &before, nullptr);
            for (size_t i = 0; i < kFew; ++i) ((volatile unsigned*)buffer.words)[middle + i] = few[i];
            change(few[0]);
        } else if (what == "load") {
            wrong += ((volatile unsigned*)buffer.words)[n - 1] != pattern(n - 1, buffer.seed);
        } else if (what == "down") {
            CHECK(hipMemcpy(host.data(), buffer.words, n * sizeof(unsigned), hipMemcpyDeviceToHost));
            for (size_t i = 0; i < n; ++i) {
                bool is_changed = buffer.is_changed && i >= middle && i < middle + kFew;
                wrong += host[i] != (is_changed ? buffer.changed : pattern(i, buffer.seed));
            }
        } else if (what == "across") {
            Buffer& next = buffers[(b + 1) % count];
            CHECK(hipMemcpy(next.words, buffer.words, n * sizeof(unsigned), hipMemcpyDeviceToDevice));
            CHECK(hipDeviceSynchronize());
            next = Buffer{next.words, buffer.seed, buffer.is_changed, buffer.changed};
        } else if (what == "free") {
            CHECK(hipFree(buffer.words));
            CHECK(hipMalloc(&buffer.words, n * sizeof(unsigned)));
            fill<<<16, 256, 0, stream>>>(buffer.words, n, buffer.seed);
            buffer.is_changed = false;
        } else if (what == "graph") {
            hipGraph_t graph;
            hipGraphExec_t exec;
            CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
            look(buffer, 0, stream);
            CHECK(hipStreamEndCapture(stream, &graph));
            CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
            CHECK(hipGraphLaunch(exec, stream));
        } else if (what == "any") {
            host_table[0] = buffer.words;
            CHECK(hipMemcpyAsync(table, host_table, sizeof(*table), hipMemcpyHostToDevice, stream));
            compare_through<<<16, 256, 0, stream>>>(table, n, buffer.seed, differ);
        } else if (what == "global") {
            compare_global<<<16, 256, 0, stream>>>(differ);
        } else if (what == "late") {
            __atomic_store_n(late_go_on, 1u, __ATOMIC_RELEASE);
            CHECK(hipMemcpyAsync(host_late_differ, late_differ, sizeof(unsigned), hipMemcpyDeviceToHost, late));
            CHECK(hipStreamSynchronize(late));
            wrong += *host_late_differ;
        } else if (what == "again") {
            fputs("waiting\n", log);
            while (!is_there("again")) usleep(2000);
        } else {
            return 2;
        }
        CHECK(hipMemcpyAsync(host_differ, differ, sizeof(unsigned), hipMemcpyDeviceToHost, stream));
        CHECK(hipStreamSynchronize(stream));
        wrong += *host_differ;
        auto now = std::chrono::system_clock::now().time_since_epoch();
        long ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
        if (wrong == 0) {
            fprintf(log, "%s right %ld\n", argv[step], ms);
        } else {
            fprintf(log, "%s wrong %u %ld\n", argv[step], wrong, ms);
            result = 1;
        }
    }
    fputs("end\n", log);
    return result;
}

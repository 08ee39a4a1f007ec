// Tables of pointers in device memory, through which kernels write: one that kernels rearrange, one
// that the CPU writes (through the BAR where there is one), one in pinned memory, and records of
// pointers and numbers of which only some are followed.
//
//   tables [ROUNDS]
#include <vector>

#include "rounds.h"

constexpr unsigned kBuffers = 16;
constexpr unsigned kWords = 1 << 14;

struct Record {
    unsigned* words;
    long long kind;
};

__global__ void write_through(unsigned* const* table, unsigned at, unsigned round) {
    unsigned* words = table[at];
    for (unsigned i = threadIdx.x; i < 512; i += blockDim.x) {
        words[(i + round * 64) % kWords] += mix(i ^ round);
    }
}

__global__ void rotate(unsigned** table, unsigned by) {
    unsigned* mine = table[(threadIdx.x + by) % kBuffers];
    __syncthreads();
    table[threadIdx.x] = mine;
}

__global__ void write_records(const Record* records, unsigned n, unsigned round) {
    for (unsigned r = 0; r < n; ++r) {
        Record record = records[r];
        if (record.kind != 1) continue;
        record.words[(threadIdx.x + 7 * round) % kWords] ^= mix(round + r);
    }
}

static void store(unsigned** table, unsigned at, unsigned* pointer, bool bar) {
    if (bar) {
        const_cast<unsigned* volatile*>(table)[at] = pointer;
        __sync_synchronize();
    } else {
        CHECK(hipMemcpy(table + at, &pointer, sizeof(pointer), hipMemcpyHostToDevice));
    }
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 60);
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    bool bar = properties.isLargeBar;
    std::vector<unsigned*> buffers;
    for (unsigned b = 0; b < kBuffers; ++b) buffers.push_back(words_of(kWords, b));
    std::vector<Record> records;
    for (unsigned b = 0; b < kBuffers; ++b) records.push_back({buffers[b], b % 3});
    unsigned **by_kernel, **by_cpu, **pinned;
    Record* device_records;
    size_t bytes = kBuffers * sizeof(unsigned*);
    CHECK(hipMalloc(&by_kernel, bytes));
    CHECK(hipMalloc(&by_cpu, bytes));
    CHECK(hipHostMalloc(&pinned, bytes, 0));
    CHECK(hipMalloc(&device_records, records.size() * sizeof(Record)));
    CHECK(hipMemcpy(by_kernel, buffers.data(), bytes, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(by_cpu, buffers.data(), bytes, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(device_records, records.data(), records.size() * sizeof(Record),
                    hipMemcpyHostToDevice));
    for (unsigned b = 0; b < kBuffers; ++b) pinned[b] = buffers[b];
    for (unsigned round = 0; round < rounds; ++round) {
        rotate<<<1, kBuffers>>>(by_kernel, 1 + round % 5);
        write_through<<<1, 256>>>(by_kernel, round % kBuffers, round);
        CHECK(hipDeviceSynchronize());
        store(by_cpu, 3, buffers[mix(round) % kBuffers], bar);
        write_through<<<1, 256>>>(by_cpu, 3, round);
        pinned[5] = buffers[mix(round + 1) % kBuffers];
        write_through<<<1, 256>>>(pinned, 5, round);
        write_records<<<1, 64>>>(device_records, kBuffers, round);
        CHECK(hipGetLastError());
        CHECK(hipDeviceSynchronize());
        if (round % 10 == 9) {
            // Which of them are followed changes now and then.
            for (Record& record : records) record.kind = (record.kind + 1) % 3;
            CHECK(hipMemcpy(device_records, records.data(), records.size() * sizeof(Record),
                            hipMemcpyHostToDevice));
        }
        say_round(round, digest(buffers[round % kBuffers], kWords));
    }
    uint64_t sum = 0;
    for (unsigned* words : buffers) sum = sum * 31 + digest(words, kWords);
    say_round(rounds, sum);
}

// Two kernels that are in the middle of their work for long: one that serves requests of the host until it is told to
// stop, and one whose waves exchange what they compute in LDS, between barriers, and keep tables in scratch memory. What
// both have computed is then compared with the host's own results: no turn may be lost or done twice.
#include <unistd.h>

#include <vector>

#include "check.h"

enum { GROUPS = 6, ITEMS = 192, TABLE = 24, REQUESTS = 100 };

static __host__ __device__ unsigned next(unsigned value) { return value * 1664525u + 1013904223u; }

struct Mailbox {
    unsigned request, reply, value, stop;
};

__global__ void serve(volatile Mailbox* mailbox) {
    unsigned served = 0;
    unsigned value = 1;
    while (!mailbox->stop) {
        if (mailbox->request != served) {
            value = next(value + mailbox->request);
            ++served;
            mailbox->value = value;
            __threadfence_system();
            mailbox->reply = served;
        }
        __builtin_amdgcn_s_sleep(16);
    }
}

// One step of a work-item: what it has, and what its neighbour had.
static __host__ __device__ unsigned turn(unsigned* table, unsigned value, unsigned other) {
    value = next(value ^ other);
    table[value % TABLE] ^= value;
    return value + table[(value >> 8) % TABLE];
}

__global__ void mill(unsigned rounds, volatile unsigned* begun, unsigned* result) {
    __shared__ unsigned shared[ITEMS];
    unsigned table[TABLE];
    for (unsigned i = 0; i < TABLE; ++i) table[i] = i;
    unsigned item = threadIdx.x;
    unsigned value = blockIdx.x * ITEMS + item;
    for (unsigned round = 0; round < rounds; ++round) {
        shared[item] = value;
        __syncthreads();
        unsigned other = shared[(item + 65 + round % 64) % ITEMS];
        __syncthreads();
        value = turn(table, value, other);
        if (round == 100) *begun = 1;
    }
    for (unsigned i = 0; i < TABLE; ++i) value = next(value ^ table[i]);
    result[blockIdx.x * ITEMS + item] = value;
}

static std::vector<unsigned> expected(unsigned rounds) {
    std::vector<unsigned> all;
    for (unsigned group = 0; group < GROUPS; ++group) {
        std::vector<unsigned> values(ITEMS), before(ITEMS);
        std::vector<unsigned> tables(ITEMS * TABLE);
        for (unsigned item = 0; item < ITEMS; ++item) {
            values[item] = group * ITEMS + item;
            for (unsigned i = 0; i < TABLE; ++i) tables[item * TABLE + i] = i;
        }
        for (unsigned round = 0; round < rounds; ++round) {
            before = values;
            for (unsigned item = 0; item < ITEMS; ++item) {
                unsigned other = before[(item + 65 + round % 64) % ITEMS];
                values[item] = turn(&tables[item * TABLE], before[item], other);
            }
        }
        for (unsigned item = 0; item < ITEMS; ++item) {
            unsigned value = values[item];
            for (unsigned i = 0; i < TABLE; ++i) value = next(value ^ tables[item * TABLE + i]);
            all.push_back(value);
        }
    }
    return all;
}

static Mailbox* mailbox;

static bool ask(unsigned number, unsigned& value) {
    volatile Mailbox* box = mailbox;
    box->request = number;
    while (box->reply != number) usleep(100);
    value = next(value + number);
    return box->value == value;
}

// `underway ROUNDS [FILE]`: ends when the second kernel has, and not before there is such a file.
int main(int argc, char** argv) {
    unsigned rounds = argc > 1 ? atoi(argv[1]) : 1000;
    const char* file = argc > 2 ? argv[2] : nullptr;
    unsigned *begun, *result;
    CHECK(hipHostMalloc(&mailbox, sizeof(Mailbox), hipHostMallocCoherent));
    CHECK(hipHostMalloc(&begun, sizeof(unsigned), hipHostMallocCoherent));
    CHECK(hipMalloc(&result, GROUPS * ITEMS * sizeof(unsigned)));
    *mailbox = {};
    *begun = 0;
    hipStream_t server, worker;
    CHECK(hipStreamCreateWithFlags(&server, hipStreamNonBlocking));
    CHECK(hipStreamCreateWithFlags(&worker, hipStreamNonBlocking));
    serve<<<1, 1, 0, server>>>(mailbox);
    CHECK(hipGetLastError());
    mill<<<GROUPS, ITEMS, 0, worker>>>(rounds, begun, result);
    CHECK(hipGetLastError());
    unsigned value = 1;
    bool right = true;
    unsigned number = 1;
    while (number < REQUESTS / 2) right &= ask(number++, value);
    while (!*static_cast<volatile unsigned*>(begun)) usleep(100);
    say("under way");
    while (file && access(file, F_OK) != 0) {
        usleep(10000);
    }
    while (number < REQUESTS) right &= ask(number++, value);
    std::vector<unsigned> got(GROUPS * ITEMS);
    CHECK(hipStreamSynchronize(worker));
    CHECK(hipMemcpyAsync(got.data(), result, got.size() * sizeof(unsigned), hipMemcpyDeviceToHost, worker));
    CHECK(hipStreamSynchronize(worker));
    mailbox->stop = 1;
    CHECK(hipDeviceSynchronize());
    say(right ? "served right" : "served wrong");
    right &= got == expected(rounds);
    say(right ? "ended right" : "ended wrong");
    return !right;
}

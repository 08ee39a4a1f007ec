// Tables of pointers that are filled while a kernel that was enqueued earlier, on another stream, is still held
// up: when that is let go, it has the last word. The order is the program's own, and no race.
//
//   overtaken
#include <unistd.h>

#include <atomic>
#include <vector>

#include "check.h"

constexpr int kCount = 64;
constexpr int kWords = 16;

__global__ void set(unsigned** table, unsigned* base) {
    table[threadIdx.x] = base + threadIdx.x * kWords;
}

__global__ void set_when_told(unsigned** table, unsigned* base, volatile int* go) {
    while (!*go) {
    }
    table[threadIdx.x] = base + threadIdx.x * kWords;
}

__global__ void follow(unsigned* const* table, unsigned value) {
    table[blockIdx.x][threadIdx.x] = value;
}

__global__ void plant(unsigned** const* where, unsigned* what) { **where = what; }

static void wait_until_told(hipStream_t, hipError_t, void* go) {
    while (!*static_cast<std::atomic<int>*>(go)) usleep(1000);
}

static hipStream_t held, other;
static std::vector<unsigned*> pointers(kCount);

static void fill(unsigned** table, unsigned* base, hipStream_t stream) {
    for (int i = 0; i < kCount; ++i) pointers[i] = base + i * kWords;
    CHECK(hipMemcpyWithStream(table, pointers.data(), kCount * sizeof(unsigned*),
                              hipMemcpyHostToDevice, stream));
}

// Whether following the table writes all words from `base` on.
static bool follows(unsigned* const* table, const unsigned* base) {
    static unsigned value;
    follow<<<kCount, kWords, 0, other>>>(table, ++value);
    std::vector<unsigned> words(kCount * kWords);
    CHECK(hipStreamSynchronize(other));
    CHECK(hipMemcpy(words.data(), base, words.size() * sizeof(unsigned), hipMemcpyDeviceToHost));
    for (unsigned word : words) {
        if (word != value) return false;
    }
    return true;
}

int main() {
    CHECK(hipStreamCreateWithFlags(&held, hipStreamNonBlocking));
    CHECK(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
    hipStream_t blocking;
    CHECK(hipStreamCreate(&blocking));
    unsigned* late;
    unsigned* early;
    unsigned** table;
    CHECK(hipMalloc(&late, kCount * kWords * sizeof(unsigned)));
    CHECK(hipMalloc(&early, kCount * kWords * sizeof(unsigned)));
    CHECK(hipMalloc(&table, kCount * sizeof(unsigned*)));
    volatile int* flag;
    CHECK(hipHostMalloc(reinterpret_cast<void**>(const_cast<int**>(&flag)), sizeof(int)));
    unsigned* value;
    CHECK(hipExtMallocWithFlags(reinterpret_cast<void**>(&value), 8, hipMallocSignalMemory));
    bool right = true;

    // By a value that another stream writes.
    *value = 0;
    CHECK(hipStreamWaitValue32(held, value, 1, hipStreamWaitValueEq, 0xffffffff));
    set<<<1, kCount, 0, held>>>(table, late);
    fill(table, early, other);
    CHECK(hipStreamWriteValue32(other, value, 1, 0));
    CHECK(hipStreamSynchronize(other));
    CHECK(hipStreamSynchronize(held));
    right = follows(table, late) && right;

    // By a function of the host.
    std::atomic<int> go{0};
    CHECK(hipStreamAddCallback(held, wait_until_told, &go, 0));
    set<<<1, kCount, 0, held>>>(table, late);
    fill(table, early, other);
    go = 1;
    CHECK(hipStreamSynchronize(held));
    right = follows(table, late) && right;

    // By a loop of its own.
    *flag = 0;
    set_when_told<<<1, kCount, 0, held>>>(table, late, flag);
    fill(table, early, other);
    *flag = 1;
    CHECK(hipStreamSynchronize(held));
    right = follows(table, late) && right;

    // The same, and another kernel fills the table meanwhile.
    *flag = 0;
    set_when_told<<<1, kCount, 0, held>>>(table, late, flag);
    set<<<1, kCount, 0, other>>>(table, early);
    CHECK(hipStreamSynchronize(other));
    *flag = 1;
    CHECK(hipStreamSynchronize(held));
    right = follows(table, late) && right;

    // In order: by the host that has waited, by the default stream, by an event.
    fill(table, early, other);
    right = follows(table, early) && right;
    set<<<1, kCount, 0, blocking>>>(table, late);
    fill(table, early, nullptr);
    right = follows(table, early) && right;
    hipEvent_t done;
    CHECK(hipEventCreate(&done));
    set<<<1, kCount, 0, held>>>(table, late);
    CHECK(hipEventRecord(done, held));
    CHECK(hipStreamWaitEvent(other, done, 0));
    set<<<1, kCount, 0, other>>>(table, early);
    right = follows(table, early) && right;

    // The kernel that follows the table is held up, and what is enqueued later fills it again: by a kernel, by a copy, and
    // once more behind an event that it waits for.
    for (int way = 0; way < 3; ++way) {
        fill(table, early, other);
        go = 0;
        if (way != 2) CHECK(hipStreamAddCallback(held, wait_until_told, &go, 0));
        follow<<<kCount, kWords, 0, held>>>(table, 1000 + way);
        CHECK(hipEventRecord(done, held));
        if (way == 2) CHECK(hipStreamWaitEvent(other, done, 0));
        if (way == 1) {
            fill(table, late, other);
        } else {
            set<<<1, kCount, 0, other>>>(table, late);
            CHECK(hipStreamSynchronize(other));
        }
        go = 1;
        CHECK(hipStreamSynchronize(held));
        unsigned first;
        CHECK(hipMemcpy(&first, way == 2 ? early : late, sizeof first, hipMemcpyDeviceToHost));
        right = first == 1000u + way && right;
    }

    // What is enqueued later leads a launch into the table of the next one.
    unsigned*** where;
    CHECK(hipMalloc(&where, sizeof(unsigned**)));
    fill(table, early, other);
    static unsigned** target;
    target = table + kCount - 1;
    CHECK(hipMemcpyWithStream(where, &target, sizeof target, hipMemcpyHostToDevice, other));
    go = 0;
    CHECK(hipStreamAddCallback(held, wait_until_told, &go, 0));
    plant<<<1, 1, 0, held>>>(where, late);
    follow<<<kCount, kWords, 0, held>>>(table, 2000);
    target = table;
    CHECK(hipMemcpyWithStream(where, &target, sizeof target, hipMemcpyHostToDevice, other));
    go = 1;
    CHECK(hipStreamSynchronize(held));
    unsigned planted;
    CHECK(hipMemcpy(&planted, late, sizeof planted, hipMemcpyDeviceToHost));
    right = planted == 2000 && right;

    puts(right ? "as ordered" : "out of order");
    return right ? 0 : 1;
}

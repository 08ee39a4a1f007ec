// Streams that wait for values in memory which other streams write, and kernels that wait for the
// host, which another thread of the program lets go on.
//
//   waits [ROUNDS]
#include <unistd.h>

#include <thread>

#include "rounds.h"

constexpr unsigned kWords = 1 << 13;

__global__ void wait_for(volatile unsigned* word, unsigned value, unsigned* words) {
    while (*word < value) __builtin_amdgcn_s_sleep(32);
    words[threadIdx.x] += value;
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 60);
    hipStream_t first, second;
    CHECK(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
    CHECK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
    unsigned *signal, *flag;
    CHECK(hipExtMallocWithFlags(reinterpret_cast<void**>(&signal), 8, hipMallocSignalMemory));
    CHECK(hipHostMalloc(&flag, 4, hipHostMallocCoherent));
    CHECK(hipStreamWriteValue32(first, signal, 0, 0));
    CHECK(hipStreamSynchronize(first));
    *flag = 0;
    unsigned *words = words_of(kWords, 1), *idle = words_of(1 << 19, 2);
    for (unsigned round = 1; round <= rounds; ++round) {
        CHECK(hipStreamWaitValue32(second, signal, round, hipStreamWaitValueGte, 0xffffffff));
        advance_words<<<1, 256, 0, second>>>(words, kWords, round);
        wait_for<<<1, 64, 0, first>>>(flag, round, words + kWords / 2);
        CHECK(hipStreamWriteValue32(first, signal, round, 0));
        CHECK(hipGetLastError());
        std::thread host([&] {
            usleep(3000);
            *reinterpret_cast<volatile unsigned*>(flag) = round;
        });
        CHECK(hipStreamSynchronize(second));
        host.join();
        CHECK(hipStreamSynchronize(first));
        say_round(round, digest(words, kWords, second));
    }
    say_round(0, digest(idle, 1 << 19));
}

// A kernel on the legacy default stream that waits for the host, which first wants work of other
// streams done: kernels that write, uploads and downloads. Whoever puts work of its own into a queue
// behind that kernel, and lets the program wait for it, waits for ever.
//
//   blocked [ROUNDS]
#include "rounds.h"

constexpr unsigned kWords = 1 << 19;
constexpr unsigned kPart = 1 << 12;

__global__ void wait_for_host(volatile unsigned* word, unsigned value) {
    while (*word < value) __builtin_amdgcn_s_sleep(32);
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 60);
    unsigned* words = words_of(kWords, 1);
    unsigned *flag, *host;
    CHECK(hipHostMalloc(&flag, 4, hipHostMallocCoherent));
    CHECK(hipHostMalloc(&host, kPart * 4, 0));
    for (unsigned i = 0; i < kPart; ++i) host[i] = i;
    *flag = 0;
    hipStream_t compute, copy;
    CHECK(hipStreamCreateWithFlags(&compute, hipStreamNonBlocking));
    CHECK(hipStreamCreateWithFlags(&copy, hipStreamNonBlocking));
    for (unsigned round = 1; round <= rounds; ++round) {
        wait_for_host<<<1, 64>>>(flag, round);
        for (unsigned i = 0; i < 4; ++i) {
            unsigned at = mix(round * 4 + i) % (kWords - kPart);
            advance_words<<<1, 256, 0, compute>>>(words + at, kPart, round);
        }
        unsigned at = mix(round) % (kWords - kPart);
        CHECK(hipStreamSynchronize(compute));
        CHECK(hipMemcpyAsync(words + at, host, kPart * 4, hipMemcpyHostToDevice, copy));
        advance_words<<<1, 256, 0, copy>>>(words + at, kPart, round);
        CHECK(hipMemcpyAsync(host, words + at, kPart * 4, hipMemcpyDeviceToHost, copy));
        CHECK(hipStreamSynchronize(copy));
        *reinterpret_cast<volatile unsigned*>(flag) = round;
        CHECK(hipDeviceSynchronize());
        uint64_t sum = 0;
        for (unsigned i = 0; i < kPart; ++i) sum = sum * 31 + host[i];
        say_round(round, sum);
    }
    say_round(0, digest(words, kWords));
}

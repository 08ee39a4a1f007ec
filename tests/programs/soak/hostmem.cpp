// Memory of the host that kernels write: pinned, coherent, registered and managed, with the CPU and
// the device taking turns; and device memory that depends on it.
//
//   hostmem [ROUNDS]
#include <sys/mman.h>

#include "rounds.h"

constexpr unsigned kWords = 1 << 13;

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 80);
    unsigned *pinned, *coherent, *managed, *mapped, *write_combined;
    size_t bytes = kWords * sizeof(unsigned);
    CHECK(hipHostMalloc(&pinned, bytes, hipHostMallocDefault));
    CHECK(hipHostMalloc(&coherent, bytes, hipHostMallocCoherent | hipHostMallocMapped));
    CHECK(hipHostMalloc(&write_combined, bytes, hipHostMallocWriteCombined));
    CHECK(hipMallocManaged(&managed, bytes, hipMemAttachGlobal));
    void* plain = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (plain == MAP_FAILED) return 1;
    unsigned* registered = static_cast<unsigned*>(plain);
    CHECK(hipHostRegister(registered, bytes, hipHostRegisterMapped));
    CHECK(hipHostGetDevicePointer(reinterpret_cast<void**>(&mapped), registered, 0));
    unsigned* device = words_of(1 << 18, 7);
    unsigned* all[] = {pinned, coherent, managed, registered, write_combined};
    for (unsigned* words : all) {
        for (unsigned i = 0; i < kWords; ++i) words[i] = mix(i);
    }
    for (unsigned round = 0; round < rounds; ++round) {
        for (unsigned* words : {pinned, coherent, managed, mapped, write_combined}) {
            advance_words<<<1, 256>>>(words, kWords / 4, round);
        }
        CHECK(hipGetLastError());
        CHECK(hipDeviceSynchronize());
        uint64_t sum = 0;
        for (unsigned* words : all) {
            for (unsigned i = 0; i < kWords; i += 97) {
                sum = sum * 31 + words[i];
                words[i] += round;
            }
        }
        unsigned at = mix(round) % ((1 << 18) - kWords);
        CHECK(hipMemcpyAsync(device + at, all[round % 5], bytes / 2, hipMemcpyDefault, nullptr));
        advance_words<<<1, 256>>>(device + at, kWords / 8, round);
        CHECK(hipDeviceSynchronize());
        say_round(round, sum);
    }
    uint64_t sum = digest(device, 1 << 18);
    for (unsigned* words : all) {
        for (unsigned i = 0; i < kWords; ++i) sum = sum * 31 + words[i];
    }
    CHECK(hipHostUnregister(registered));
    say_round(rounds, sum);
}

// Memory that is mapped by handles (HIP's virtual memory management): a buffer that grows in place, piece by piece, as
// allocators with expandable segments have it, one piece at two addresses, one that is released while its addresses
// stay reserved, and pools where the runtime makes them so.
//
//   grows ROUNDS [LOG]   one line a round, "round N sum S", to LOG or stdout
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "check.h"

constexpr size_t kPiece = 2 << 20;
constexpr unsigned kMost = 6;
constexpr unsigned kWords = kPiece / sizeof(unsigned);

__global__ void advance(unsigned* words, unsigned n, unsigned round) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        words[i] = words[i] * 1664525u + (i ^ round);
    }
}

__global__ void sum(const unsigned* words, unsigned n, unsigned long long* total) {
    unsigned long long mine = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        mine += (unsigned long long)(words[i] ^ i) * (2 * i + 1);
    }
    atomicAdd(total, mine);
}

class Growing {
  public:
    Growing() {
        properties_.type = hipMemAllocationTypePinned;
        properties_.location.type = hipMemLocationTypeDevice;
        access_.location = properties_.location;
        access_.flags = hipMemAccessFlagsProtReadWrite;
        void* base = nullptr;
        CHECK(hipMemAddressReserve(&base, (kMost + 2) * kPiece, 0, nullptr, 0));
        base_ = static_cast<char*>(base);
    }

    void grow() {
        hipMemGenericAllocationHandle_t memory;
        CHECK(hipMemCreate(&memory, kPiece, &properties_, 0));
        map(pieces_.size(), memory);
        pieces_.push_back(memory);
        CHECK(hipMemset(words(pieces_.size() - 1), pieces_.size(), kPiece));
    }

    void shrink() {
        CHECK(hipMemUnmap(words(pieces_.size() - 1), kPiece));
        CHECK(hipMemRelease(pieces_.back()));
        pieces_.pop_back();
    }

    // The first piece once more, behind all others.
    void show_twice() { map(kMost, pieces_[0]); }

    // What is released and unmapped, the runtime leaves mapped for the CPU, without permission.
    void leave_behind() {
        hipMemGenericAllocationHandle_t memory;
        CHECK(hipMemCreate(&memory, kPiece, &properties_, 0));
        map(kMost + 1, memory);
        // It goes with its mapping.
        CHECK(hipMemRelease(memory));
        CHECK(hipMemUnmap(words(kMost + 1), kPiece));
    }

    // The last one is not mapped in between, and keeps what it holds.
    void hide_last() { CHECK(hipMemUnmap(words(pieces_.size() - 1), kPiece)); }
    void show_last() { map(pieces_.size() - 1, pieces_.back()); }

    size_t pieces() const { return pieces_.size(); }
    unsigned* words(size_t piece) { return reinterpret_cast<unsigned*>(base_ + piece * kPiece); }

    void release() {
        CHECK(hipMemUnmap(words(kMost), kPiece));
        while (!pieces_.empty()) shrink();
        CHECK(hipMemAddressFree(base_, (kMost + 2) * kPiece));
    }

  private:
    void map(size_t piece, hipMemGenericAllocationHandle_t memory) {
        CHECK(hipMemMap(words(piece), kPiece, 0, memory, 0));
        CHECK(hipMemSetAccess(words(piece), kPiece, &access_, 1));
    }

    char* base_ = nullptr;
    hipMemAllocationProp properties_ = {};
    hipMemAccessDesc access_ = {};
    std::vector<hipMemGenericAllocationHandle_t> pieces_;
};

int main(int argc, char** argv) {
    unsigned told = argc > 1 ? strtoul(argv[1], nullptr, 10) : 10;
    FILE* log = argc > 2 ? fopen(argv[2], "w") : stdout;
    if (!log) {
        perror(argv[2]);
        return 1;
    }
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    Growing buffer;
    for (unsigned piece = 0; piece < 2; ++piece) buffer.grow();
    buffer.show_twice();
    unsigned long long* total;
    unsigned* kept;
    CHECK(hipMallocAsync(reinterpret_cast<void**>(&total), sizeof(*total), stream));
    CHECK(hipMallocAsync(reinterpret_cast<void**>(&kept), kPiece, stream));
    CHECK(hipMemsetAsync(kept, 7, kPiece, stream));
    for (unsigned round = 0; round < rounds_in_all(argc > 2 ? argv[2] : nullptr, told); ++round) {
        if (round % 3 == 1) buffer.pieces() < kMost ? buffer.grow() : buffer.shrink();
        CHECK(hipMemsetAsync(total, 0, sizeof(*total), stream));
        unsigned n = buffer.pieces() * kWords;
        advance<<<8, 256, 0, stream>>>(buffer.words(0), n, round);
        advance<<<2, 256, 0, stream>>>(buffer.words(kMost), kWords / 4, round);
        advance<<<2, 256, 0, stream>>>(kept, kWords, round);
        unsigned* passing;
        CHECK(hipMallocAsync(reinterpret_cast<void**>(&passing), kPiece, stream));
        CHECK(hipMemcpyAsync(passing, kept, kPiece, hipMemcpyDeviceToDevice, stream));
        sum<<<8, 256, 0, stream>>>(buffer.words(0), n, total);
        sum<<<2, 256, 0, stream>>>(passing, kWords, total);
        CHECK(hipFreeAsync(passing, stream));
        CHECK(hipGetLastError());
        unsigned long long result = 0;
        CHECK(hipMemcpyAsync(&result, total, sizeof(result), hipMemcpyDeviceToHost, stream));
        CHECK(hipStreamSynchronize(stream));
        fprintf(log, "round %u sum %016llx\n", round, result);
        fflush(log);
        buffer.leave_behind();
        buffer.hide_last();
        usleep(20000);
        buffer.show_last();
    }
    CHECK(hipFreeAsync(total, stream));
    CHECK(hipFreeAsync(kept, stream));
    CHECK(hipStreamSynchronize(stream));
    buffer.release();
}

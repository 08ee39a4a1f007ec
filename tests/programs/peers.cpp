// Several GPUs and the ways between them: every GPU computes on its own memory, and reads, writes and
// counts in that of every other one, by kernels and by copies, with peer access and without. What
// memory holds is compared with what the host has computed. With one GPU nothing is between them.
//
//   peers [none | stray]   none: no GPU may have access to another's memory, and copies go all the same;
//                          stray: the second GPU writes memory of the first that it was given no
//                          access to, which must not end well
#include <cstring>
#include <vector>

#include "check.h"

// Larger than what the runtime copies with a kernel of its own at once, and no multiple of a page.
constexpr unsigned kWords = 300007;
constexpr size_t kBytes = kWords * sizeof(unsigned);

using Words = std::vector<unsigned>;

__global__ void fill(unsigned* words, unsigned seed) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kWords) words[i] = i * 2654435761u + seed;
}

__global__ void add(unsigned* to, const unsigned* from, unsigned factor) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kWords) to[i] += from[i] * factor;
}

__global__ void count(unsigned long long* total, const unsigned* words) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kWords) atomicAdd(total, (unsigned long long)words[i]);
}

constexpr unsigned kGroups = (kWords + 255) / 256;

static Words filled(unsigned seed) {
    Words words(kWords);
    for (unsigned i = 0; i < kWords; ++i) words[i] = i * 2654435761u + seed;
    return words;
}

static unsigned wrong;

static void expect(const char* what, int of, int by, const Words& is, const Words& wanted) {
    if (is == wanted) return;
    printf("%s: memory of GPU %d is wrong, by GPU %d\n", what, of, by);
    ++wrong;
}

static Words read(const unsigned* device) {
    Words words(kWords);
    CHECK(hipMemcpy(words.data(), device, kBytes, hipMemcpyDeviceToHost));
    return words;
}

// What one GPU has.
struct Side {
    unsigned *words, *spare;
    unsigned long long* total;
    hipStream_t stream;
    Words model;
};

static void computes(std::vector<Side>& sides, int d) {
    Side& side = sides[d];
    CHECK(hipSetDevice(d));
    hipPointerAttribute_t attributes;
    CHECK(hipMalloc(&side.words, kBytes));
    CHECK(hipMalloc(&side.spare, kBytes));
    CHECK(hipMalloc(&side.total, sizeof *side.total));
    CHECK(hipStreamCreate(&side.stream));
    CHECK(hipPointerGetAttributes(&attributes, side.words));
    if (attributes.device != d) printf("memory of GPU %d is said to be of %d\n", d, attributes.device), ++wrong;
    fill<<<kGroups, 256>>>(side.words, 77 * d + 1);
    CHECK(hipGetLastError());
    side.model = filled(77 * d + 1);
    expect("fill", d, d, read(side.words), side.model);
}

// GPU `by` reads memory of `of`, writes there, and counts there.
static void reaches(std::vector<Side>& sides, int of, int by) {
    Side &owner = sides[of], &peer = sides[by];
    CHECK(hipSetDevice(by));
    CHECK(hipMemset(owner.total, 0, sizeof *owner.total));
    CHECK(hipDeviceSynchronize());
    add<<<kGroups, 256, 0, peer.stream>>>(peer.words, owner.words, 3);
    add<<<kGroups, 256, 0, peer.stream>>>(owner.words, peer.words, 5);
    count<<<kGroups, 256, 0, peer.stream>>>(owner.total, owner.words);
    CHECK(hipGetLastError());
    CHECK(hipStreamSynchronize(peer.stream));
    unsigned long long total, wanted = 0;
    for (unsigned i = 0; i < kWords; ++i) {
        peer.model[i] += owner.model[i] * 3;
        owner.model[i] += peer.model[i] * 5;
        wanted += owner.model[i];
    }
    expect("read by a peer", by, by, read(peer.words), peer.model);
    expect("written by a peer", of, by, read(owner.words), owner.model);
    CHECK(hipMemcpy(&total, owner.total, sizeof total, hipMemcpyDeviceToHost));
    if (total != wanted) printf("GPU %d counted wrong in memory of %d\n", by, of), ++wrong;
}

static void copies(std::vector<Side>& sides, int from, int to) {
    Side &source = sides[from], &target = sides[to];
    CHECK(hipSetDevice(to));
    CHECK(hipMemset(target.spare, 0xcc, kBytes));
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpyPeer(target.spare, to, source.words, from, kBytes));
    CHECK(hipDeviceSynchronize());
    expect("hipMemcpyPeer", to, from, read(target.spare), source.model);
    // Part of it, from the other end of the two.
    CHECK(hipSetDevice(from));
    constexpr size_t kSkip = 12345;
    CHECK(hipMemcpyPeerAsync(target.spare, to, source.words + kSkip, from, kBytes - 4 * kSkip,
                             source.stream));
    CHECK(hipStreamSynchronize(source.stream));
    Words wanted = source.model;
    memmove(wanted.data(), wanted.data() + kSkip, kBytes - 4 * kSkip);
    expect("hipMemcpyPeerAsync", to, from, read(target.spare), wanted);
    CHECK(hipMemcpy(target.spare, source.words, kBytes, hipMemcpyDeviceToDevice));
    CHECK(hipDeviceSynchronize());
    expect("hipMemcpy", to, from, read(target.spare), source.model);
    CHECK(hipMemcpyDtoD(target.spare, source.words + 1, 4));
    CHECK(hipDeviceSynchronize());
    wanted = source.model;
    wanted[0] = source.model[1];
    expect("hipMemcpyDtoD of a word", to, from, read(target.spare), wanted);
}

static int strays() {
    unsigned* words;
    CHECK(hipSetDevice(0));
    CHECK(hipMalloc(&words, kBytes));
    CHECK(hipSetDevice(1));
    fill<<<kGroups, 256>>>(words, 1);
    CHECK(hipDeviceSynchronize());
    say("survived");
    return 0;
}

int main(int argc, char** argv) {
    if (argc > 1 && strcmp(argv[1], "stray") == 0) return strays();
    bool linked = argc < 2 || strcmp(argv[1], "none") != 0;
    int gpus;
    CHECK(hipGetDeviceCount(&gpus));
    std::vector<Side> sides(gpus);
    for (int d = 0; d < gpus; ++d) computes(sides, d);
    for (int from = 0; from < gpus; ++from)
        for (int to = 0; to < gpus; ++to)
            if (from != to) copies(sides, from, to);
    for (int by = 0; by < gpus; ++by) {
        CHECK(hipSetDevice(by));
        for (int of = 0; of < gpus; ++of) {
            if (of == by) continue;
            int can;
            CHECK(hipDeviceCanAccessPeer(&can, by, of));
            if ((can != 0) != linked) printf("GPU %d access to %d: %d\n", by, of, can), ++wrong;
            hipError_t enabled = hipDeviceEnablePeerAccess(of, 0);
            if ((enabled == hipSuccess) != linked) {
                printf("GPU %d access to %d: %s\n", by, of, hipGetErrorName(enabled));
                ++wrong;
            }
            (void)hipGetLastError();
        }
    }
    if (linked) {
        for (int of = 0; of < gpus; ++of)
            for (int by = 0; by < gpus; ++by)
                if (of != by) reaches(sides, of, by);
        for (int from = 0; from < gpus; ++from)
            for (int to = 0; to < gpus; ++to)
                if (from != to) copies(sides, from, to);
    }
    printf("gpus %d wrong %u\n", gpus, wrong);
    return wrong != 0;
}

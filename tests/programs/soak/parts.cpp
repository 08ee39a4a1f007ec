// Kernels that write only part of what they could: early returns under conditions that lanes do not
// share, one-based arrays, records by value, negative indices, a pointer chosen by data.
//
//   parts [ROUNDS]
#include "rounds.h"

constexpr unsigned kWords = 1 << 16;

struct Job {
    unsigned* words;
    long long kind;
    long long stride;
};
struct Jobs {
    Job jobs[6];
};

__global__ void early(unsigned* out, unsigned q, unsigned round) {
    unsigned tid = threadIdx.x;
    if ((tid ^ 6) > q) {
        if (0 < (int)(q + (signed char)q)) return;
    }
    out[tid] += round;
}

// The caller hands over the address before the first word, as Fortran does.
__global__ void one_based(unsigned* a, unsigned n, unsigned round) {
    for (unsigned i = 1 + threadIdx.x; i <= n; i += blockDim.x) a[i] += mix(round + i);
}

__global__ void by_value(Jobs list, unsigned n, unsigned round) {
    for (unsigned j = blockIdx.x; j < n; j += gridDim.x) {
        Job job = list.jobs[j];
        if (job.stride == 1) {
            job.words[threadIdx.x] ^= round;
        } else if (job.kind == 1) {
            job.words[threadIdx.x * job.stride] += round;
        }
    }
}

__global__ void chosen(unsigned* a, unsigned* b, const unsigned* which, unsigned round) {
    unsigned* to = which[threadIdx.x % 16] % 2 ? a : b;
    to[threadIdx.x] = to[threadIdx.x] * 3 + round;
}

__global__ void backwards(unsigned* end, unsigned n, unsigned round) {
    int i = -(int)(threadIdx.x + 1);
    if ((unsigned)-i <= n) end[i] += end[i + (int)(threadIdx.x % 2)] + round;
}

// Two ways into one loop.
__global__ void two_doors(unsigned* words, unsigned n, unsigned start) {
    unsigned i = threadIdx.x;
    if (words[i] % 3 == start % 3) goto middle;
top:
    if (i >= n) return;
    words[i] += start;
middle:
    words[i + 1] ^= i;
    i += 2 * blockDim.x;
    if (i < n) goto top;
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 80);
    unsigned* words[6];
    for (unsigned b = 0; b < 6; ++b) words[b] = words_of(kWords, b);
    for (unsigned round = 0; round < rounds; ++round) {
        unsigned at = mix(round) % (kWords / 2) & ~63u;
        early<<<1, 64>>>(words[0] + at, round % 70, round);
        one_based<<<1, 64>>>(words[1] + at - 1 + (at == 0), 500, round);
        Jobs list = {};
        for (unsigned j = 0; j < 6; ++j) {
            list.jobs[j] = {words[j] + at, (long long)((round + j) % 3), (long long)(1 + (round * j) % 4)};
        }
        by_value<<<3, 64>>>(list, 6, round);
        chosen<<<1, 128>>>(words[2] + at, words[3] + at, words[4], round);
        backwards<<<1, 128>>>(words[4] + at + 1024, 100, round);
        two_doors<<<1, 1>>>(words[5] + at, 700, round);
        CHECK(hipGetLastError());
        say_round(round, digest(words[round % 6] + at, 1024));
    }
    uint64_t sum = 0;
    for (unsigned* w : words) sum = sum * 31 + digest(w, kWords);
    say_round(rounds, sum);
}

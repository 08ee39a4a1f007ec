// What a compiler makes of plain code when it does not optimise: every variable in scratch and behind a flat pointer,
// every intrinsic a call, masks in lanes of registers that functions save.
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ void

//~ launch fill grid=256 block=64 args out=buffer(4096) u64(200) u32(7)
//~ exactly-writes out[0..800]
// A loop with calls in it.
KERNEL fill(unsigned* out, size_t n, unsigned value) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        out[i] = (unsigned)i ^ value;
    }
}

//~ launch nested grid=64 block=64 args in=buffer(4096) out=buffer(4096)
//~ exactly-writes out[0..256]
// Loops that lanes leave, one in the other.
KERNEL nested(const unsigned* in, unsigned* out) {
    unsigned sum = 0;
    for (unsigned i = 0; i < in[threadIdx.x]; ++i) {
        unsigned word = in[i & 63];
        for (unsigned k = 0; k < (word & 3); ++k) {
            if (word % 5 == k) sum += i;
            else word += k * 7;
        }
        sum += word;
    }
    out[threadIdx.x] = sum;
}

//~ launch reversed grid=64 block=64 args out=buffer(4096)
//~ exactly-writes out[0..256]
// LDS through flat addresses is no scratch.
KERNEL reversed(unsigned* out) {
    __shared__ unsigned words[64];
    words[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = words[63 - threadIdx.x];
}

__device__ __noinline__ void advance(unsigned* by, unsigned** at) {
    *by += 1;
    *at += *by;
}

//~ launch pointed_to grid=64 block=64 args out=buffer(4096)
//~ exactly-writes out[8..12]
// Pointers to variables are arguments.
KERNEL pointed_to(unsigned* out) {
    unsigned by = 0;
    advance(&by, &out);
    unsigned* at = out;
    if (by == 1) *(at + 1) = by;
}

struct Range {
    unsigned *at, *end;
    __device__ __noinline__ Range(unsigned* from, unsigned n) : at(from), end(from + n) {}
    __device__ __noinline__ bool more() { return at != end; }
    __device__ __noinline__ unsigned* next() { return at++; }
};

//~ launch along grid=1 block=1 args out=buffer(4096) u32(16)
//~ writes-at-least out[0..64]
//~ known-writes out
// An object's methods, and a pointer that a loop moves.
KERNEL along(unsigned* out, unsigned n) {
    Range range(out, n);
    while (range.more()) *range.next() = n;
}

//~ launch indexed grid=64 block=64 args in=buffer(4096) out=buffer(4096)
//~ exactly-writes out[0..256]
// An array of which no element is known by its number.
KERNEL indexed(const unsigned* in, unsigned* out) {
    unsigned words[4] = {1, 2, 3, 4};
    words[in[threadIdx.x] & 3] = 7;
    out[threadIdx.x] = words[in[threadIdx.x + 64] & 3];
}

//~ launch sides grid=64 block=64 args in=buffer(4096) out=buffer(4096) u32(5)
//~ exactly-writes out[0..256]
// A choice in a loop in a loop: what is known of one side comes together with what is known of the other.
KERNEL sides(const unsigned* in, unsigned* out, unsigned n) {
    unsigned sum = 0;
    for (unsigned i = 0; i < n; ++i) {
        unsigned word = in[(threadIdx.x + i) & 63];
        for (unsigned k = 0; k < (word & 3); ++k) {
            if ((word & 3) == k) sum += i;
            else word += k * 2;
        }
        if (threadIdx.x == 2) sum += word;
    }
    out[threadIdx.x] = sum;
}

//~ launch kept_apart grid=64 block=64 args in=buffer(4096) out=buffer(4096)
//~ exactly-writes out[0..256]
// An array that loops fill and read, beside the variables that say where: elements are elements, however far a loop gets.
KERNEL kept_apart(const unsigned* in, unsigned* out) {
    unsigned words[8];
    for (int i = 0; i < 8; ++i) words[i] = in[threadIdx.x + i];
    unsigned sum = 0;
    for (size_t i = 0; i < 8; ++i) {
        if (words[i] & 1) continue;
        sum += words[i];
        words[i] = 0;
    }
    out[threadIdx.x] = sum + words[3];
}

//~ launch bytes_apart grid=64 block=64 args in=buffer(4096) out=buffer(4096)
//~ exactly-writes out[0..256]
// Bytes of an array.
KERNEL bytes_apart(const unsigned* in, unsigned* out) {
    unsigned char bytes[16];
    for (int i = 0; i < 16; ++i) bytes[i] = (unsigned char)in[threadIdx.x + i];
    out[threadIdx.x] = bytes[in[threadIdx.x] & 15];
}

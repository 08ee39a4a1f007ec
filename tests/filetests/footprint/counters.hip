// Counters that do not just step on.
#include <hip/hip_runtime.h>

// A ring of 8 rows.
//~ launch ring grid=64 block=64 args x=buffer(65536) n=buffer(4) u32(100)
//~ within-reads x[0..2048] n
//~ within-writes x[0..2048]
//~ writes-at-least x[0..256]
extern "C" __global__ void ring(float* x, const unsigned* n, unsigned rounds) {
    unsigned row = 0;
    for (unsigned k = 0; k < rounds; ++k) {
        x[row * 64 + threadIdx.x] += 1.0f;
        row = (row + n[0]) & 7;
    }
}

// One of two buffers by turns, 16 KiB apart.
//~ launch turns grid=64 block=64 args x=buffer(65536) u32(10)
//~ within-reads x[0..16640]
//~ within-writes x[0..16640]
//~ writes-at-least x[0..256]
extern "C" __global__ void turns(float* x, unsigned rounds) {
    unsigned at = 0;
    for (unsigned k = 0; k < rounds; ++k) {
        x[at + threadIdx.x] *= 2.0f;
        at ^= 4096;
    }
}

//~ launch doubled grid=64 block=64 args x=buffer(65536) u32(1000)
//~ reads nothing
//~ within-writes x[4..4000]
//~ writes-at-least x[4..8]
extern "C" __global__ void doubled(float* x, unsigned n) {
    for (unsigned i = 1; i < n; i *= 2) x[i] = 1.0f;
}

//~ launch halved grid=64 block=64 args x=buffer(65536) u32(1000)
//~ reads nothing
//~ within-writes x[4..4004]
//~ writes-at-least x[4000..4004]
extern "C" __global__ void halved(float* x, unsigned n) {
    for (unsigned i = n; i > 0; i >>= 1) x[i] = 1.0f;
}

// What goes round with a counter that is halved: 10 times.
//~ launch levels grid=64 block=64 args x=buffer(65536) u32(1000)
//~ reads nothing
//~ within-writes x[0..2560]
//~ writes-at-least x[0..256]
extern "C" __global__ void levels(float* x, unsigned n) {
    for (unsigned i = n; i > 0; i >>= 1, x += 64) x[threadIdx.x] = 1.0f;
}

// A pointer steps on in the inner loop and skips what is left of a row in the outer one.
//~ launch rows_in_turn grid=64 block=64 args x=buffer(65536) i32(10) i32(5)
//~ reads nothing
//~ within-writes x[0..2560]
//~ writes-at-least x[0..4]
extern "C" __global__ void rows_in_turn(float* x, int rows, int columns) {
    for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < columns; ++c) *x++ = 1.0f;
        x += 64 - columns;
    }
}
// The loop goes round from two places.
//~ launch two_ends grid=64 block=64 args x=buffer(65536) keys=buffer(4096) i32(100)
//~ within-reads keys[0..400]
//~ within-writes x[0..1588]
//~ writes-at-least x[0..4]
extern "C" __global__ void two_ends(float* x, const int* keys, int n) {
    float* to = x;
    for (int i = 0; i < n;) {
        *to = 1.0f;
        if (keys[i] > 0) {
            i += 2;
            to += 4;
            asm volatile("s_nop 1");
            continue;
        }
        i += 1;
        to += 2;
        asm volatile("s_nop 2");
    }
}


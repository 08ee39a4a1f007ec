// Arrays in scratch.
#include <hip/hip_runtime.h>

// Pointers in an array: any of them is read, and one is replaced by a pointer that was there before.
//~ launch pointers grid=64 block=64 args x=buffer(65536) y=buffer(65536) i32(3)
//~ reads nothing
//~ within-writes x[0..16384]
//~ writes-at-least x[0..4]
extern "C" __global__ void pointers(float* x, float* y, int n) {
    float* to[32];
#pragma unroll
    for (int k = 0; k < 32; ++k) to[k] = x + 128 * k;
    to[(threadIdx.x + n) & 31] = x;
    *to[(threadIdx.x * 3) & 31] = 1.0f;
}

// What is written by an index that is known to be small leaves the pointers beside the array alone.
//~ launch beside grid=64 block=64 args x=buffer(65536) y=buffer(65536) i32(3)
//~ reads y[0..256]
//~ within-writes x[0..256]
//~ writes-at-least x[0..4]
extern "C" __global__ void beside(float* x, const float* y, int n) {
    float* volatile to = x;
    volatile float part[64];
    for (int k = 0; k < 64; ++k) part[k] = y[k];
    part[(threadIdx.x + n) & 63] = 2.0f;
    to[threadIdx.x] = part[threadIdx.x & 63];
}

// Lanes that part and meet again.
#include <hip/hip_runtime.h>

// The condition is a phi of truth values: lanes that return early are parked when the mask of the others
// is made.
//~ launch early_return grid=64 block=64 args out=buffer(4096) i32(20)
//~ reads nothing
//~ writes-at-least out[0..88]
//~ within-writes out[0..256]
//~ launch early_return grid=64 block=64 args out=buffer(4096) i32(-5)
//~ writes-at-least out[0..4]
extern "C" __global__ void early_return(int* out, int q) {
    int t = threadIdx.x;
    if ((t ^ 6) > q) {
        if (0 < q + (signed char)q) return;
    }
    out[t] = 0;
}

// The same with a condition that only memory knows.
//~ launch early_return_of_loaded grid=64 block=64 args in=buffer(4096) out=buffer(4096) i32(20)
//~ reads-at-least in[80..256]
//~ writes-at-least out[0..256]
//~ within-writes out[0..256]
extern "C" __global__ void early_return_of_loaded(const int* in, int* out, int q) {
    int t = threadIdx.x;
    if (t >= q) {
        if (in[t] == 3) return;
        if (q < 30 && in[t] > 5) return;
    }
    out[t] = 1;
}

// A truth value that a loop hands out, set for lanes that left it early.
//~ launch found grid=64 block=64 args in=buffer(4096) out=buffer(4096) i32(8)
//~ reads-at-least in[0..284]
//~ writes-at-least out[0..256]
extern "C" __global__ void found(const int* in, int* out, int n) {
    int t = threadIdx.x;
    bool hit = false;
    for (int i = 0; i < n; ++i) {
        if (in[t + i] == 7) {
            hit = true;
            break;
        }
    }
    if (hit) out[t] = 1;
}

// A loop with two entries: what holds where it is entered at the top holds nowhere in it.
//~ launch two_entries grid=64 block=64 args out=buffer(4096) i32(8) i32(7)
//~ reads nothing
//~ writes-at-least out[4..32] out[512..544]
//~ launch two_entries grid=64 block=64 args out=buffer(4096) i32(8) i32(3)
//~ writes-at-least out[0..32] out[512..544]
extern "C" __global__ void two_entries(int* out, int n, int k) {
    int i = 0;
    if (k > 5) goto middle;
top:
    out[i] = k;
    __builtin_amdgcn_s_sleep(1);
middle:
    out[i + 128] = n;
    __builtin_amdgcn_s_sleep(2);
    if (++i < n) goto top;
}

// Both sides make the index: once they have met, each lane has its own side's, not what the register held before.
//~ launch either_index grid=32,32 block=32,32 args x=buffer(65536) u32(20) i32(20)
//~ reads nothing
//~ writes x[0..1600]
extern "C" __global__ void either_index(unsigned* x, unsigned n, int stride) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x, j = blockIdx.y * (size_t)blockDim.y + threadIdx.y;
    if (i < n && j < n) {
        size_t at;
        if (i == j) {
            at = i + i * stride;
            asm volatile("" : "+v"(at));
        } else {
            at = i + j * stride;
            asm volatile("" : "+v"(at));
        }
        x[at] = 1;
    }
}

// What one side puts into a register, the other side does not find there.
//~ launch own_side grid=32,32 block=32,32 args x=buffer(65536) u32(20) i32(20)
//~ reads nothing
//~ writes x[0..1600]
extern "C" __global__ void own_side(unsigned* x, unsigned n, int stride) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x, j = blockIdx.y * (size_t)blockDim.y + threadIdx.y;
    if (i < n && j < n) {
        size_t at = i * stride;
        asm volatile("" : "+v"(at));
        if (i <= j) {
            at = (size_t)(x + at + j);
            *(unsigned*)at = 1;
        } else {
            x[at + j] = 2;
        }
        asm volatile("" ::"v"(at));
    }
}

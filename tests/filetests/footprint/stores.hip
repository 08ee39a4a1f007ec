// Pointers that kernels store: what is in memory afterwards.
#include <hip/hip_runtime.h>

//~ launch set grid=3 block=1 args t=buffer(64) x=buffer(4096) u32(512) u32(16)
//~ writes t[0..24]
//~ leaves t = x+16 x+528 x+1040
extern "C" __global__ void set(char** t, char* base, unsigned stride, unsigned offset) {
    t[blockIdx.x] = base + blockIdx.x * stride + offset;
}

// The last group of the grid has items that store nothing.
//~ launch guarded grid=128 block=64 args t=buffer(1024) x=buffer(4096) u64(64) u32(5)
//~ leaves t = x x+64 x+128 x+192 x+256
//~ launch guarded grid=128 block=64 args t=buffer(1024) x=buffer(4096) u64(64) u32(0)
//~ leaves nothing
extern "C" __global__ void guarded(char** t, char* base, long stride, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) t[i] = base + i * stride;
}

// Two tables, each under a condition of its own.
//~ launch two grid=64 block=64 args t=buffer(64) s=buffer(64) x=buffer(4096) u32(2) u32(3)
//~ leaves t = x x+8
//~ leaves s = x+256 x+264 x+272
extern "C" __global__ void two(char** t, char** s, char* base, unsigned few, unsigned more) {
    unsigned i = threadIdx.x;
    if (i < few) t[i] = base + 8 * i;
    __syncthreads();
    if (i < more) s[i] = base + 256 + 8 * i;
}

// A table made of another one.
//~ memory s = x y null
//~ launch moved grid=64 block=64 args t=buffer(64) s=buffer(64) x:buffer(64) y:buffer(64) u32(3) u32(8)
//~ leaves t = x+8 y+8 8
//~ launch moved grid=64 block=64 args t=buffer(64) s=buffer(64) u32(3) u32(8)
//~ leaves nothing
// In place: what one item stores another may have loaded.
//~ memory t = x y null
//~ launch moved grid=64 block=64 args t=buffer(64) u64=t x:buffer(64) y:buffer(64) u32(3) u32(8)
//~ leaves nothing
extern "C" __global__ void moved(char** t, char* const* s, unsigned count, unsigned by) {
    unsigned i = threadIdx.x;
    if (i < count) t[i] = s[i] + by;
}

// Either of two pointers.
//~ launch chosen grid=4 block=4 args t=buffer(64) x=buffer(64) y=buffer(64)
//~ leaves t = x y x y
extern "C" __global__ void chosen(char** t, char* even, char* odd) {
    unsigned i = threadIdx.x;
    t[i] = i & 1 ? odd : even;
}

// The last one alone, and the rest.
//~ launch branched grid=4 block=4 args t=buffer(64) x=buffer(64) y=buffer(64) u32(4)
//~ within-leaves t = x x+1 x+2 y
extern "C" __global__ void branched(char** t, char* most, char* last, unsigned count) {
    unsigned i = threadIdx.x;
    if (i == count - 1) {
        t[i] = last;
        return;
    }
    t[i] = most + i;
}

// Whether a store is done is in memory.
//~ launch unknown_condition grid=4 block=4 args t=buffer(64) x=buffer(64) f=buffer(64)
//~ writes t[0..32]
//~ leaves nothing
extern "C" __global__ void unknown_condition(char** t, char* base, const float* flags) {
    unsigned i = threadIdx.x;
    if (flags[i] > 0.5f) t[i] = base;
}

// A condition of the whole wave, unknown; what comes behind it is done in any case.
//~ launch behind grid=4 block=4 args t=buffer(64) s=buffer(64) x=buffer(64) f=buffer(64)
//~ leaves t = x x+1 x+2 x+3
extern "C" __global__ void behind(char** t, char** s, char* base, const float* flags) {
    unsigned i = threadIdx.x;
    if (flags[0] > 0.5f) s[i] = base;
    t[i] = base + i;
}

// So is not what comes behind a way out.
//~ launch way_out grid=4 block=4 args t=buffer(64) x=buffer(64) f=buffer(64)
//~ leaves nothing
extern "C" __global__ void way_out(char** t, char* base, const float* flags) {
    unsigned i = threadIdx.x;
    if (flags[0] > 0.5f) return;
    t[i] = base + i;
}

// Another store, whose place is not known so well, may reach the table.
//~ launch besides grid=4 block=4 args t=buffer(64) u64=t x=buffer(64) f=buffer(64)
//~ leaves nothing
//~ launch besides grid=4 block=4 args t=buffer(64) s=buffer(64) x=buffer(64) f=buffer(64)
//~ leaves t = x x+1 x+2 x+3
extern "C" __global__ void besides(char** t, unsigned* s, char* base, const unsigned* at) {
    unsigned i = threadIdx.x;
    t[i] = base + i;
    s[at[i] & 7] = 1;
}

// Two items in one place: one pointer, or one of two.
//~ launch crowded grid=8 block=8 args t=buffer(64) x=buffer(64) u32(0)
//~ leaves t = x x
//~ launch crowded grid=8 block=8 args t=buffer(64) x=buffer(64) u32(1)
//~ leaves nothing
extern "C" __global__ void crowded(char** t, char* base, unsigned by) {
    unsigned i = threadIdx.x;
    t[i >> 2] = base + i * by;
}

// In a loop: who stores how often is not counted.
//~ launch looped grid=4 block=4 args t=buffer(64) x=buffer(64) u32(8)
//~ writes-at-least t
//~ leaves nothing
extern "C" __global__ void looped(char** t, char* base, unsigned count) {
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x) t[i] = base + i;
}

struct Pair {
    char* first;
    char* second;
};

// One store of two pointers.
//~ launch pairs grid=2 block=2 args t=buffer(64) x=buffer(64) y=buffer(64)
//~ leaves t = x y x+4 y+8
extern "C" __global__ void pairs(Pair* t, char* first, char* second) {
    unsigned i = threadIdx.x;
    t[i] = {first + 4 * i, second + 8 * i};
}

// Numbers are no pointers.
//~ launch numbers grid=4 block=4 args t=buffer(64) u64(77)
//~ writes t[0..32]
//~ leaves nothing
extern "C" __global__ void numbers(long* t, long value) {
    t[threadIdx.x] = value + threadIdx.x;
}

// Accesses through buffer descriptors.
#include <hip/hip_runtime.h>

typedef unsigned Words __attribute__((ext_vector_type(4)));

#define DESCRIPTOR                                          \
    "v_readfirstlane_b32 s24, %0\nv_readfirstlane_b32 s25, %1\n" \
    "v_readfirstlane_b32 s26, %2\nv_readfirstlane_b32 s27, %3\n"

static __device__ __forceinline__ void store(Words d, unsigned offset) {
    asm volatile(DESCRIPTOR "buffer_store_dword %4, %4, s[24:27], 0 offen"
                 ::"v"(d.x), "v"(d.y), "v"(d.z), "v"(d.w), "v"(offset) : "s24", "s25", "s26", "s27", "memory");
}

static __device__ __forceinline__ Words buffer(unsigned* x, unsigned above, unsigned bytes) {
    unsigned long at = (unsigned long)x;
    return Words{(unsigned)at, (unsigned)(at >> 32) | above, bytes, 0x20000};
}

// Lanes beyond the edge have an offset out of range, and store nothing (so do Tensile's kernels).
//~ launch edge grid=256 block=256 args x=buffer(65536) u32(3) u32(5) u32(100)
//~ reads nothing
//~ writes x[0..12]*5/400
extern "C" __global__ void edge(unsigned* x, unsigned rows, unsigned columns, unsigned stride) {
    unsigned row = threadIdx.x & 15, column = threadIdx.x >> 4;
    bool inside = (row < rows) & (column < columns);
    unsigned offset = 4 * (column * stride + row);
    asm volatile("" : "+v"(offset));
    store(buffer(x, 0, 0xfffff000), inside ? offset : ~0u);
}

// In a buffer of records the offset is not checked, so all lanes store.
//~ launch records grid=64 block=64 args x=buffer(65536) u32(3)
//~ writes-at-least x[0..260]
extern "C" __global__ void records(unsigned* x, unsigned rows) {
    bool inside = threadIdx.x < rows;
    store(buffer(x, 8 << 16, 16), inside ? 256 : 4 * threadIdx.x);
}

// Its stride is no part of the address.
//~ launch stride grid=64 block=64 args x=buffer(65536) u32(16)
//~ writes-at-least x[0..256]
extern "C" __global__ void stride(unsigned* x, unsigned bytes) {
    store(buffer(x, bytes << 16, 0x10000), 4 * threadIdx.x);
}

// What is out of range is loaded as zero.
//~ memory t = x y
//~ launch zero grid=64 block=64 args t=buffer(16) x:buffer(4096) y:buffer(4096) z=buffer(65536)
//~ writes-at-least z[0..256]
extern "C" __global__ void zero(unsigned* t, unsigned* z) {
    Words d = buffer(t, 0, 8);
    unsigned long loaded;
    asm volatile(DESCRIPTOR "buffer_load_dwordx2 %4, %5, s[24:27], 0 offen\ns_waitcnt vmcnt(0)"
                 : "+v"(d.x), "+v"(d.y), "+v"(d.z), "+v"(d.w), "=v"(loaded)
                 : "v"(8) : "s24", "s25", "s26", "s27", "memory");
    unsigned* at = (unsigned*)(loaded + (unsigned long)z);
    if (loaded == 0) at[threadIdx.x] = 1;
}

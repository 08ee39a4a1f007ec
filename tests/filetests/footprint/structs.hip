// Pointers in structures and in memory.
#include <hip/hip_runtime.h>

struct View {
    float* data;
    unsigned count;
    unsigned stride;
    const float* scale;
};

//~ launch view grid=64 block=64 args { x=buffer(4096) u32(64) u32(2) s=buffer(4096) }
//~ reads s[0..256]
//~ writes x[0..4]*64/8
extern "C" __global__ void view(View v) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < v.count) v.data[i * v.stride] = v.scale[i];
}

struct Chunks {
    float* data[8];
    unsigned count[8];
};

// The pointer is picked at run time: any pointer of the structure.
//~ launch multi grid=128 block=64 args { x=buffer(256) y=buffer(256) null null null null null null u32(64) u32(64) u32(0) u32(0) u32(0) u32(0) u32(0) u32(0) }
//~ reads nothing
//~ writes-at-least x y
//~ within-writes x y
extern "C" __global__ void multi(Chunks c) {
    float* data = c.data[blockIdx.x];
    if (threadIdx.x < c.count[blockIdx.x]) data[threadIdx.x] = 1.0f;
}

// A table of pointers in device memory, content known or not.
//~ memory t = x y z
//~ launch table grid=128 block=64 args t=buffer(64) x:buffer(256) y:buffer(256) z:buffer(256) u32(64)
//~ reads t[0..16]
//~ writes x y
//~ launch table grid=64 block=64 args t=buffer(64) u32(64)
//~ reads t[0..8]
//~ writes unknown
extern "C" __global__ void table(float** t, unsigned n) {
    float* data = t[blockIdx.x];
    if (threadIdx.x < n) data[threadIdx.x] = 1.0f;
}

// Pointers that are arguments.
#include <hip/hip_runtime.h>

//~ launch saxpy grid=1024 block=256 args f32(2) x=buffer(4096) y=buffer(4096) i32(1000)
//~ reads x[0..4000] y[0..4000]
//~ writes y[0..4000]
//~ launch saxpy grid=1024 block=256 args f32(2) x=buffer(4096) y=buffer(4096) i32(0)
//~ reads nothing
//~ writes nothing
//~ launch saxpy grid=100 block=64 args f32(2) x=buffer(400) y=buffer(400) i32(1000)
//~ reads x[0..512] y[0..512]
//~ writes y[0..512]
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

// An allocation that holds many tensors: only the slice is touched.
//~ launch slice grid=256 block=64 args x=buffer(1048576) u64(4096) u32(100)
//~ reads nothing
//~ writes x[16384..16784]
extern "C" __global__ void slice(float* x, size_t offset, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[offset + i] = 1.0f;
}

// An index that is known goes where it goes, also past the end: another allocation may be there.
//~ launch past grid=64 block=64 args x=buffer(65536) i32(65500)
//~ reads nothing
//~ writes x[65500..65564]
extern "C" __global__ void past(unsigned char* x, int n) {
    x[n + threadIdx.x] = 1;
}

// A negative index.
//~ launch backwards grid=64 block=64 args x=buffer(4096)+4096 i32(64)
//~ reads nothing
//~ writes x[3840..4096]
extern "C" __global__ void backwards(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[-1 - i] = 1.0f;
}

// The constness of a pointer says nothing.
//~ launch cast grid=64 block=64 args x=buffer(4096)
//~ reads nothing
//~ writes x[0..256]
extern "C" __global__ void cast(const float* x) {
    const_cast<float*>(x)[threadIdx.x] = 1.0f;
}

// A pointer that the signature calls a number.
//~ launch number grid=64 block=64 args u64=x buffer=x(4096)
//~ reads nothing
//~ writes x[0..256]
extern "C" __global__ void number(unsigned long x) {
    reinterpret_cast<float*>(x)[threadIdx.x] = 1.0f;
}

// Two dimensions.
//~ launch transpose grid=32,32 block=16,16 args in=buffer(4096) out=buffer(4096) u32(32)
//~ reads in
//~ writes out
extern "C" __global__ void transpose(const float* in, float* out, unsigned n) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < n) out[x * n + y] = in[y * n + x];
}

// Null pointers are not followed.
//~ launch optional grid=64 block=64 args x=buffer(256) null
//~ reads nothing
//~ writes x
//~ launch optional grid=64 block=64 args x=buffer(256) y=buffer(256)
//~ reads nothing
//~ writes x y
extern "C" __global__ void optional(float* x, float* y) {
    x[threadIdx.x] = 1.0f;
    if (y) y[threadIdx.x] = 2.0f;
}

// Which pointer is written depends on an argument.
//~ launch choose grid=64 block=64 args x=buffer(256) y=buffer(256) i32(0)
//~ reads nothing
//~ writes y
//~ launch choose grid=64 block=64 args x=buffer(256) y=buffer(256) i32(1)
//~ reads nothing
//~ writes x
extern "C" __global__ void choose(float* x, float* y, int which) {
    if (which) {
        x[threadIdx.x] = 1.0f;
    } else {
        y[threadIdx.x] = 2.0f;
    }
}

// Only whole allocations for an index that comes from memory.
//~ launch scatter grid=64 block=64 args x=buffer(4096) index=buffer(256)
//~ reads index
//~ writes x
extern "C" __global__ void scatter(float* x, const int* index) {
    x[index[threadIdx.x]] = 1.0f;
}

// An address that is no allocation.
//~ launch cast grid=64 block=64 args u64(81985529216486895)
//~ reads nothing
//~ writes unknown

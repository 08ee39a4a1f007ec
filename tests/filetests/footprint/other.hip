// LDS, atomics, calls, module data.
#include <hip/hip_runtime.h>

//~ launch reduce grid=512 block=256 args in=buffer(4096) out=buffer(4096) i32(512)
//~ reads in[0..2048]
//~ writes out[0..8]
extern "C" __global__ void reduce(const float* in, float* out, int n) {
    __shared__ float part[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

// An atomic reads and writes.
//~ launch histogram grid=64 block=64 args in=buffer(256) bins=buffer(1024)
//~ reads in[0..64] bins
//~ writes bins
extern "C" __global__ void histogram(const unsigned char* in, unsigned* bins) {
    atomicAdd(&bins[in[blockIdx.x * blockDim.x + threadIdx.x]], 1u);
}

__device__ int counter;
__device__ float weights[64];

// Module data is not tracked.
//~ launch module_data grid=64 block=64 args x=buffer(256)
//~ reads nothing
//~ writes x
extern "C" __global__ void module_data(float* x) {
    x[threadIdx.x] = weights[threadIdx.x];
    atomicAdd(&counter, 1);
}

__device__ __noinline__ void store(float* x, unsigned i, float v) {
    x[i] = v;
}

//~ launch call grid=64 block=64 args x=buffer(4096) u32(10)
//~ reads nothing
//~ writes x[0..40]
extern "C" __global__ void call(float* x, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) store(x, i, 1.0f);
}

__device__ __noinline__ float twice(float v) { return 2 * v; }
__device__ __noinline__ float half(float v) { return v / 2; }

// A function pointer that is chosen by an argument.
//~ launch indirect_call grid=64 block=64 args x=buffer(256) i32(1)
//~ writes-at-least x
extern "C" __global__ void indirect_call(float* x, int which) {
    float (*f)(float) = which ? twice : half;
    x[threadIdx.x] = f(x[threadIdx.x]);
}

// A private array that is indexed at run time.
//~ launch scratch grid=64 block=64 args x=buffer(256) index=buffer(256)
//~ reads index
//~ writes x
extern "C" __global__ void scratch(float* x, const int* index) {
    float local[32];
    for (int i = 0; i < 32; ++i) local[i] = i * i;
    x[threadIdx.x] = local[index[threadIdx.x] & 31];
}

// Early exit of some lanes, then a loop of the others.
//~ launch early grid=64 block=64 args x=buffer(4096) u32(40) u32(4)
//~ reads nothing
//~ writes x[0..640]
extern "C" __global__ void early(float* x, unsigned n, unsigned m) {
    unsigned i = threadIdx.x;
    if (i >= n) return;
    for (unsigned k = 0; k < m; ++k) x[i * m + k] = 1.0f;
}

// Arguments that the kernel itself changes are not those of the launch.
//~ launch own_arguments grid=64 block=64 args x=buffer(256) y=buffer(256)
//~ writes unknown
extern "C" __global__ void own_arguments(unsigned* x, unsigned* y) {
    unsigned* volatile* own = (unsigned* volatile*)__builtin_amdgcn_kernarg_segment_ptr();
    own[0] = y;
    own[0][threadIdx.x] = 1;
}

// Module data: who may change it, and what lies beyond.
#include <hip/hip_runtime.h>

__device__ unsigned own[64];
__device__ unsigned* pointer = own;
__device__ unsigned* const fixed = own;

// What the loader has put there may have been changed since, by kernels or by hipMemcpyToSymbol.
//~ launch by_variable grid=64 block=64 args u32(1)
//~ writes unknown
extern "C" __global__ void by_variable(unsigned value) { pointer[threadIdx.x] = value; }

// The host sets it by its name, const or not.
extern __constant__ const unsigned settable[4];
__constant__ const unsigned settable[4] = {0, 16, 32, 48};

__device__ __noinline__ void put(const unsigned* table, unsigned* x) { x[table[1] + threadIdx.x] = 1; }

//~ launch by_constant grid=64 block=64 args x=buffer(65536)
//~ reads nothing
//~ writes x
extern "C" __global__ void by_constant(unsigned* x) { put(settable, x); }

// Nobody else finds what has no name outside.
static __constant__ const unsigned unnamed[4] = {0, 16, 32, 48};

//~ launch by_unnamed grid=64 block=64 args x=buffer(65536)
//~ reads nothing
//~ writes x[64..320]
extern "C" __global__ void by_unnamed(unsigned* x) { put(unnamed, x); }

//~ launch within grid=64 block=64 args u64(0)
//~ writes nothing
extern "C" __global__ void within(long i) { own[i + threadIdx.x] = 1; }

// An index that is known leads where it leads, be it out of the module into somebody's memory.
//~ launch beyond grid=64 block=64 args u64(1000000)
//~ writes unknown
extern "C" __global__ void beyond(long i) { own[i + threadIdx.x] = 1; }

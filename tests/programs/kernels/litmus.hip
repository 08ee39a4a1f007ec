// Litmus tests of the memory model, run by crates/softgpu/tests/litmus.rs: several workers, one
// workgroup each, and answers that no order of the accesses allows.

#include <hip/hip_runtime.h>
#include <stdint.h>

#define KERNEL extern "C" __global__
#define LOAD(p, order) __hip_atomic_load(p, __ATOMIC_##order, __HIP_MEMORY_SCOPE_AGENT)
#define STORE(p, v, order) __hip_atomic_store(p, v, __ATOMIC_##order, __HIP_MEMORY_SCOPE_AGENT)

// Lets other threads run once it has taken a while.
__device__ void give_way(unsigned tries) {
    if (tries > 100) __builtin_amdgcn_s_sleep(1);
}

// All groups pass together: `gate` counts arrivals, one after the other.
__device__ void meet(unsigned* gate, unsigned round) {
    __hip_atomic_fetch_add(gate, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
    for (unsigned n = 0; LOAD(gate, ACQUIRE) < (round + 1) * gridDim.x; n++) give_way(n);
}

typedef unsigned long long u64x2 __attribute__((ext_vector_type(2)));

// Even groups store one value or its complement in turns, odd ones count values that are neither.
// Of 128 bits each half counts by itself. `spread` lanes lie side by side or all at one place.
#define TEARING(name, type, neither)                                             \
    KERNEL void name(type* place, unsigned* torn, unsigned* seen, int rounds,    \
                     int spread) {                                               \
        volatile type* p = place + (spread ? threadIdx.x : 0);                   \
        if (blockIdx.x % 2 == 0) {                                               \
            for (int i = 0; i < rounds; i++) *p = i & 1 ? (type)(-1) : (type)(0);\
            return;                                                              \
        }                                                                        \
        unsigned bad = 0, ones = 0;                                              \
        for (int i = 0; i < rounds; i++) {                                       \
            type v = *p;                                                         \
            bad += neither;                                                      \
            ones += part(v) != 0;                                                \
        }                                                                        \
        atomicAdd(torn, bad);                                                    \
        if (threadIdx.x == 0 && ones != 0 && ones != (unsigned)rounds)           \
            atomicAdd(seen, 1u);                                                 \
    }

template <class T> __device__ uint64_t part(T v) { return (uint64_t)v; }
template <> __device__ uint64_t part(u64x2 v) { return v.x; }

TEARING(tearing16, uint16_t, v != 0 && v != 0xffff)
TEARING(tearing32, uint32_t, v != 0 && v != 0xffffffffu)
TEARING(tearing64, uint64_t, v != 0 && v != ~0ull)
TEARING(tearing128, u64x2, (v.x != 0 && v.x != ~0ull) || (v.y != 0 && v.y != ~0ull))

// Message passing: who sees the flag sees the data.
KERNEL void message(unsigned* data, unsigned* flag, unsigned* wrong, unsigned* seen, unsigned* gate,
                    int rounds) {
    if (threadIdx.x) return;
    meet(gate, 0);
    for (int i = 0; i < rounds; i++) {
        if (blockIdx.x == 0) {
            STORE(&data[i * 17 % rounds], 1u, RELAXED);
            STORE(&flag[i], 1u, RELEASE);
        } else if (LOAD(&flag[i], ACQUIRE)) {
            atomicAdd(seen, 1u);
            if (!LOAD(&data[i * 17 % rounds], RELAXED)) atomicAdd(wrong, 1u);
        }
    }
}

// Store buffering: of two that store and then look at the other's place, one sees the other.
KERNEL void buffering(unsigned* x, unsigned* y, unsigned* a, unsigned* b, unsigned* gate,
                      int rounds) {
    if (threadIdx.x) return;
    unsigned *own = blockIdx.x ? y : x, *other = blockIdx.x ? x : y, *out = blockIdx.x ? b : a;
    for (int i = 0; i < rounds; i++) {
        meet(gate, i);
        STORE(&own[i], 1u, SEQ_CST);
        out[i] = LOAD(&other[i], SEQ_CST);
    }
}

// The same with plain accesses and a fence between them.
KERNEL void fenced(unsigned* x, unsigned* y, unsigned* a, unsigned* b, unsigned* gate, int rounds) {
    if (threadIdx.x) return;
    unsigned *own = blockIdx.x ? y : x, *other = blockIdx.x ? x : y, *out = blockIdx.x ? b : a;
    for (int i = 0; i < rounds; i++) {
        meet(gate, i);
        STORE(&own[i], 1u, RELAXED);
        __threadfence();
        out[i] = LOAD(&other[i], RELAXED);
    }
}

// Load buffering: nobody sees what is stored after a load that saw it.
KERNEL void loads_first(unsigned* x, unsigned* y, unsigned* a, unsigned* b, unsigned* gate,
                        int rounds) {
    if (threadIdx.x) return;
    unsigned *own = blockIdx.x ? y : x, *other = blockIdx.x ? x : y, *out = blockIdx.x ? b : a;
    for (int i = 0; i < rounds; i++) {
        meet(gate, i);
        out[i] = LOAD(&other[i], ACQUIRE);
        STORE(&own[i], 1u, RELEASE);
    }
}

// Coherence: a place that only grows never shrinks for anyone, neither the writer nor a reader.
KERNEL void grows(unsigned* place, unsigned* wrong, unsigned* seen, unsigned* gate, int rounds) {
    unsigned* p = place + threadIdx.x;
    if (threadIdx.x == 0) meet(gate, 0);
    __syncthreads();
    unsigned last = 0, changes = 0;
    for (int i = 1; i <= rounds; i++) {
        if (blockIdx.x == 0) STORE(p, (unsigned)i, RELAXED);
        unsigned now = LOAD(p, RELAXED);
        if (now < last || (blockIdx.x == 0 && now != (unsigned)i)) atomicAdd(wrong, 1u);
        changes += now != last;
        last = now;
    }
    if (blockIdx.x && threadIdx.x == 0 && changes > 1) atomicAdd(seen, 1u);
}

// Coherence of writes: group 0 stores a whole wave's words, group 1 answers each with its
// complement as soon as it sees it; a store that is done again later takes the answer away.
KERNEL void answered(unsigned* place, unsigned* turn, unsigned* wrong, int rounds) {
    unsigned* p = place + threadIdx.x;
    for (unsigned i = 1; i <= (unsigned)rounds; i++) {
        if (blockIdx.x == 0) {
            STORE(p, i, RELAXED);
            for (unsigned n = 0; LOAD(turn, ACQUIRE) < i; n++) give_way(n);
            if (LOAD(p, RELAXED) != ~i) atomicAdd(wrong, 1u);
        } else {
            for (unsigned n = 0; LOAD(p, RELAXED) != i; n++) give_way(n);
            STORE(p, ~i, RELAXED);
            __builtin_amdgcn_wave_barrier();
            STORE(turn, i, RELEASE);
        }
    }
}

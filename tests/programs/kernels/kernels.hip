// Kernels that exercise what compilers emit for gfx906, compared with host results by
// crates/softgpu/tests/kernels.rs.

#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__
#define ITEM (blockIdx.x * blockDim.x + threadIdx.x)

KERNEL void saxpy(float a, const float* x, float* y, int n) {
    int i = ITEM;
    if (i < n) y[i] = a * x[i] + y[i];
}

// C = A * B, n a multiple of 16, blocks of 16 x 16.
KERNEL void matmul(const float* a, const float* b, float* c, int n) {
    __shared__ float as[16][16], bs[16][16];
    int x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        as[y][x] = a[row * n + t + x];
        bs[y][x] = b[(t + y) * n + col];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum = fmaf(as[y][k], bs[k][x], sum);
        __syncthreads();
    }
    c[row * n + col] = sum;
}

// One block of 256: sum by shuffles and LDS, and the maximum by the other shuffle kinds.
KERNEL void reduce(const float* in, float* sum, int* max, int n) {
    __shared__ float sums[4];
    __shared__ int maxima[4];
    float s = 0;
    int m = -0x7fffffff;
    for (int i = ITEM; i < n; i += gridDim.x * blockDim.x) {
        s += in[i];
        int k = (int)in[i];
        m = k > m ? k : m;
    }
    for (int d = 32; d > 0; d >>= 1) {
        s += __shfl_down(s, d);
        int o = __shfl_xor(m, d);
        m = o > m ? o : m;
    }
    if (threadIdx.x % 64 == 0) sums[threadIdx.x / 64] = s, maxima[threadIdx.x / 64] = m;
    __syncthreads();
    if (threadIdx.x == 0) {
        float t = 0;
        for (int i = 0; i < 4; i++) {
            t += sums[i];
            m = maxima[i] > m ? maxima[i] : m;
        }
        atomicAdd(sum, t);
        atomicMax(max, m);
    }
}

// A block per row of 256.
KERNEL void softmax(const float* in, float* out, int columns) {
    __shared__ float scratch[256];
    const float* row = in + (size_t)blockIdx.x * columns;
    int t = threadIdx.x;
    float v = t < columns ? row[t] : -INFINITY;
    scratch[t] = v;
    __syncthreads();
    for (int d = 128; d > 0; d >>= 1) {
        if (t < d) scratch[t] = fmaxf(scratch[t], scratch[t + d]);
        __syncthreads();
    }
    float max = scratch[0];
    __syncthreads();
    float e = t < columns ? expf(v - max) : 0;
    scratch[t] = e;
    __syncthreads();
    for (int d = 128; d > 0; d >>= 1) {
        if (t < d) scratch[t] += scratch[t + d];
        __syncthreads();
    }
    if (t < columns) out[(size_t)blockIdx.x * columns + t] = e / scratch[0];
}

KERNEL void math32(const float* in, float* out, int n) {
    int i = ITEM;
    if (i >= n) return;
    float x = in[i], y = in[(i + 1) % n];
    float* o = out + i * 16;
    o[0] = x / y;
    o[1] = sqrtf(fabsf(x));
    o[2] = expf(x * 0.01f);
    o[3] = logf(fabsf(x) + 1e-3f);
    o[4] = sinf(x);
    o[5] = cosf(x);
    o[6] = powf(fabsf(x), 0.3f);
    o[7] = tanhf(x * 0.1f);
    o[8] = floorf(x);
    o[9] = fmodf(x, 3.7f);
    o[10] = rsqrtf(fabsf(x) + 1.0f);
    o[11] = ldexpf(x, (int)y);
    o[12] = atan2f(x, y);
    o[13] = fminf(x, y);
    o[14] = cbrtf(x);
    o[15] = erff(x * 0.1f);
}

KERNEL void math64(const double* in, double* out, int n) {
    int i = ITEM;
    if (i >= n) return;
    double x = in[i], y = in[(i + 1) % n];
    double* o = out + i * 12;
    o[0] = x / y;
    o[1] = sqrt(fabs(x));
    o[2] = exp(x * 0.01);
    o[3] = log(fabs(x) + 1e-3);
    o[4] = sin(x);
    o[5] = cos(x);
    o[6] = pow(fabs(x), 0.3);
    o[7] = fma(x, y, 1.0);
    o[8] = floor(x);
    o[9] = fmod(x, 3.7);
    o[10] = sin(x * 1e30);
    o[11] = tan(x);
}

KERNEL void integers(const unsigned* in, unsigned long long* out, int n) {
    int i = ITEM;
    if (i >= n) return;
    unsigned a = in[i], b = in[(i + 1) % n] | 1;
    unsigned long long wa = (unsigned long long)a << 32 | in[(i + 2) % n];
    unsigned long long wb = (unsigned long long)(b >> (a & 31)) << 32 | b;
    unsigned long long* o = out + i * 16;
    o[0] = a / b;
    o[1] = a % b;
    o[2] = wa / wb;
    o[3] = wa % wb;
    o[4] = (long long)wa / (int)b;
    o[5] = (long long)wa % (int)b;
    o[6] = wa * wb;
    o[7] = __umul64hi(wa, wb);
    o[8] = __popcll(wa);
    o[9] = __clzll(wa);
    o[10] = wa >> (b & 63);
    o[11] = (unsigned long long)((long long)wa >> (b & 63));
    o[12] = wa << (b & 63);
    o[13] = __brevll(wa);
    o[14] = (unsigned long long)((int)a < (int)b) | (wa < wb) << 1 | ((long long)wa < (long long)wb) << 2;
    o[15] = (unsigned long long)__mul24((int)a, (int)b) + __ffsll(wa);
}

KERNEL void control(const int* in, int* out, int n) {
    int i = ITEM;
    if (i >= n) return;
    int x = in[i], r = 0;
    switch (x & 7) {
        case 0: r = x * 3; break;
        case 1: r = x - 7; break;
        case 2: for (int k = 0; k < (x & 63); k++) r += k ^ x; break;
        case 3: r = ~x; // falls through
        case 4: r += 100; break;
        case 5: { int k = x & 0xff; while (k > 1) { k = k & 1 ? 3 * k + 1 : k / 2; r++; } break; }
        default: r = -1;
    }
    out[i] = r;
}

struct Inner { short s; signed char c; float* where; };
struct Args { int count; double scale; Inner inner; unsigned char tail[5]; };

KERNEL void by_value(Args args, float* out) {
    int i = ITEM;
    if (i < args.count)
        out[i] = (float)(args.inner.where[i] * args.scale) + args.inner.s + args.inner.c + args.tail[i % 5];
}

__device__ __attribute__((noinline)) int collatz(int n, int depth, int* trace) {
    trace[depth & 7] += n;
    if (n <= 1 || depth > 40) return depth;
    return collatz(n & 1 ? 3 * n + 1 : n / 2, depth + 1, trace);
}

KERNEL void calls(const int* in, int* out, int n) {
    int i = ITEM;
    if (i >= n) return;
    int trace[8] = {};
    int steps = collatz(in[i], 0, trace);
    int sum = 0;
    for (int k = 0; k < 8; k++) sum += trace[(k + in[i]) & 7] * (k + 1);
    out[2 * i] = steps;
    out[2 * i + 1] = sum;
}

// Atomics of every kind; many lanes hit the same words.
KERNEL void atomics(unsigned* words, unsigned long long* wide, float* sum, int n) {
    int i = ITEM;
    if (i >= n) return;
    unsigned v = (unsigned)i * 2654435761u;
    atomicAdd(&words[0], v);
    atomicSub(&words[1], v);
    atomicMin(&words[2], v);
    atomicMax(&words[3], v);
    atomicMin((int*)&words[4], (int)v);
    atomicMax((int*)&words[5], (int)v);
    atomicAnd(&words[6], v | 0xff);
    atomicOr(&words[7], 1u << (i & 31));
    atomicXor(&words[8], v);
    atomicInc(&words[9], 1000);
    atomicDec(&words[10], 1000);
    unsigned old = atomicCAS(&words[11], 0, 42);
    if (old == 0) atomicAdd(&words[12], 1);
    atomicAdd(&wide[0], (unsigned long long)v << 20);
    atomicMax(&wide[1], (unsigned long long)v << 20);
    atomicExch(&wide[2], 7ull);
    atomicAdd(sum, 1.0f);
    unsigned slot = atomicAdd(&words[13], 1);
    words[64 + slot] = i;
}

KERNEL void halves(const __half* a, const __half* b, __half* out, int n) {
    int i = ITEM;
    if (i >= n) return;
    __half* o = out + i * 8;
    o[0] = __hadd(a[i], b[i]);
    o[1] = __hmul(a[i], b[i]);
    o[2] = __hfma(a[i], b[i], a[i]);
    o[3] = __hdiv(a[i], b[i]);
    __half2 p = __halves2half2(a[i], b[i]), q = __half2half2(b[i]);
    __half2 r = __hadd2(p, q), s = __hfma2(p, q, p);
    o[4] = __low2half(r);
    o[5] = __high2half(s);
    o[6] = __hgt(a[i], b[i]) ? a[i] : __float2half(__half2float(b[i]) * 0.5f);
    o[7] = hsqrt(__habs(a[i]));
}

KERNEL void small_types(const signed char* c, const unsigned short* s, short* out, int n) {
    __shared__ unsigned char bytes[256];
    __shared__ short words[256];
    int i = ITEM, t = threadIdx.x;
    bytes[t] = i < n ? c[i] : 0;
    words[t] = i < n ? s[i] : 0;
    __syncthreads();
    int o = (t * 7 + 3) & 255;
    if (i < n) {
        out[2 * i] = (short)((signed char)bytes[o] * 3 + words[t]);
        out[2 * i + 1] = (short)(c[i] > (signed char)words[o] ? s[i] >> 3 : (short)s[i] >> 3);
    }
}

// Everything lanes can exchange within a wave.
KERNEL void exchange(const int* in, int* out) {
    int i = ITEM, v = in[i];
    int* o = out + i * 8;
    o[0] = __shfl(v, (i * 5 + 1) & 63);
    o[1] = __shfl_up(v, 3);
    o[2] = __shfl_xor(v, 17, 32);
    o[3] = (int)__popcll(__ballot(v & 1));
    o[4] = __any(v == 3) * 2 + __all(v >= 0);
    o[5] = __builtin_amdgcn_readfirstlane(v + 1);
    o[6] = __builtin_amdgcn_update_dpp(-1, v, 0x111, 0xf, 0xf, false); // row_shr:1
    o[7] = __builtin_amdgcn_ds_swizzle(v, 0x041f); // swap neighbours
}

// Grid of partial groups of 8 x 4 x 4 (blockDim would be the partial size at the edge); flat
// pointers to LDS, stack and memory.
__device__ __attribute__((noinline)) void bump(int* where, int by) { *where += by; }

KERNEL void shapes(int* out, int nx, int ny, int nz) {
    __shared__ int shared;
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y,
        z = blockIdx.z * 4 + threadIdx.z;
    if (threadIdx.x + threadIdx.y + threadIdx.z == 0) shared = 5;
    __syncthreads();
    int mine = x;
    bump(&mine, y);
    if (threadIdx.x + threadIdx.y + threadIdx.z == 0) bump(&shared, 1);
    __syncthreads();
    if (x < nx && y < ny && z < nz) {
        int* at = &out[(z * ny + y) * nx + x];
        *at = mine * 100 + z;
        bump(at, shared);
    }
}

__device__ int table[4] = {3, 1, 4, 1};
__constant__ float weights[4] = {0.5f, 1.5f, 2.5f, 3.5f};
__device__ float* pointer_to_weights = (float*)weights;

KERNEL void globals(float* out, int n) {
    int i = ITEM;
    if (i < n) out[i] = weights[i & 3] * table[(i >> 2) & 3] + pointer_to_weights[3 - (i & 3)];
}

// A stack array indexed by data, and a struct returned through memory.
struct Wide { double d[6]; };
__device__ __attribute__((noinline)) Wide widen(float x) {
    Wide w;
    for (int i = 0; i < 6; i++) w.d[i] = x * i;
    return w;
}

KERNEL void stack(const float* in, const int* order, double* out, int n) {
    int i = ITEM;
    if (i >= n) return;
    float values[16];
    for (int k = 0; k < 16; k++) values[k] = in[(i + k) % n];
    for (int k = 0; k < 16; k++) {
        int o = order[(i + k) % n] & 15;
        float t = values[o];
        values[o] = values[k] + 1;
        values[k] = t;
    }
    Wide w = widen(values[order[i] & 15]);
    double s = 0;
    for (int k = 0; k < 6; k++) s += w.d[(order[i] + k) % 6] * (k + 1);
    out[i] = s;
}

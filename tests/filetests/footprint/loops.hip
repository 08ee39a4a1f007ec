// Loops.
#include <hip/hip_runtime.h>

//~ launch gridstride grid=256 block=64 args x=buffer(1048576) u32(1000)
//~ reads x[0..4000]
//~ writes x[0..4000]
extern "C" __global__ void gridstride(float* x, unsigned n) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        x[i] += 1.0f;
    }
}

//~ launch rows grid=64 block=64 args in=buffer(65536) out=buffer(65536) u32(100)
//~ reads in[0..25600]
//~ writes out[0..256]
extern "C" __global__ void rows(const float* in, float* out, unsigned n) {
    unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (unsigned k = 0; k < n; ++k) sum += in[row * n + k];
    out[row] = sum;
}

//~ launch columns grid=64 block=64 args in=buffer(65536) out=buffer(65536) u32(100)
//~ reads in[0..25600]
//~ writes out[0..256]
extern "C" __global__ void columns(const float* in, float* out, unsigned n) {
    unsigned column = threadIdx.x;
    float sum = 0;
    for (unsigned k = 0; k < n; ++k) sum += in[k * 64 + column];
    out[column] = sum;
}

//~ launch matmul grid=64,64 block=16,16 args a=buffer(65536) b=buffer(65536) c=buffer(65536) i32(64) i32(64) i32(64)
//~ reads a[0..16384] b[0..16384]
//~ writes c[0..16384]
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float ta[16][16];
    __shared__ float tb[16][16];
    int row = blockIdx.y * 16 + threadIdx.y;
    int column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < k; t += 16) {
        ta[threadIdx.y][threadIdx.x] = row < m && t + threadIdx.x < k ? a[row * k + t + threadIdx.x] : 0;
        tb[threadIdx.y][threadIdx.x] = t + threadIdx.y < k && column < n ? b[(t + threadIdx.y) * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

// Each lane leaves at an iteration of its own and writes what it had there.
//~ launch divergent grid=64 block=64 args x=buffer(4096) out=buffer(4096) u32(16)
//~ within-reads x
//~ within-writes out
//~ writes-at-least out[0..64]
extern "C" __global__ void divergent(const unsigned* x, unsigned* out, unsigned n) {
    unsigned i = 0;
    for (; i + 1 < n; ++i) {
        if (x[i] > threadIdx.x) break;
    }
    out[i] = threadIdx.x;
}

//~ launch down grid=64 block=64 args x=buffer(4096) i32(100)
//~ reads nothing
//~ writes x[0..400]
extern "C" __global__ void down(float* x, int n) {
    for (int i = n - 1; i >= 0; --i) x[i] = 1.0f;
}

// Whether it goes round again is known by its counter and two more.
//~ launch triangle grid=256,4 block=64,4 args in=buffer(65536) out=buffer(65536) i32(250) u32(4)
//~ reads in[256..1536]
//~ writes out[256..3536]
extern "C" __global__ void triangle(const float* in, float* out, int n, unsigned blocks) {
    __shared__ float row[64], sums[4][65];
    const int tail = n % 64;
    float* to = out + blockIdx.x * n;
    for (unsigned b = blockIdx.x + 1; b < blocks; ++b) {
        const int room = b == blocks - 1 ? tail : 0;
        if (threadIdx.y == 0) {
            if (room && threadIdx.x >= room) {
                row[threadIdx.x] = 0;
            } else {
                row[threadIdx.x] = in[b * 64 + threadIdx.x];
            }
        }
        __syncthreads();
        sums[threadIdx.y][threadIdx.x] = row[(threadIdx.x + threadIdx.y) % 64];
        __syncthreads();
        if (threadIdx.y == 0 && (room == 0 || threadIdx.x < room)) {
            to[b * 64 + threadIdx.x] = sums[0][threadIdx.x] + sums[1][threadIdx.x] + sums[2][threadIdx.x];
        }
        __syncthreads();
    }
}

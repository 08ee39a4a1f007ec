// Matrix products through LDS tiles: C (m x n) = A * B, or C += A * B.
#pragma once

#include "model.h"

enum class Layout { NN, NT, TN };

template <Layout layout>
__device__ inline void matmul_tile(const float* a, const float* b, float* c, int m, int n, int k,
                                   bool accumulate) {
    __shared__ float tile_a[kTile][kTile + 1];
    __shared__ float tile_b[kTile][kTile + 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * kTile + ty;
    int col = blockIdx.x * kTile + tx;
    float sum = 0.0f;
    for (int base = 0; base < k; base += kTile) {
        if (layout == Layout::TN) {
            // A is stored k x m.
            int ar = base + ty, ac = blockIdx.y * kTile + tx;
            tile_a[tx][ty] = (ar < k && ac < m) ? a[ar * m + ac] : 0.0f;
        } else {
            tile_a[ty][tx] = (row < m && base + tx < k) ? a[row * k + base + tx] : 0.0f;
        }
        if (layout == Layout::NT) {
            // B is stored n x k.
            int br = blockIdx.x * kTile + ty, bc = base + tx;
            tile_b[tx][ty] = (br < n && bc < k) ? b[br * k + bc] : 0.0f;
        } else {
            tile_b[ty][tx] = (base + ty < k && col < n) ? b[(base + ty) * n + col] : 0.0f;
        }
        __syncthreads();
        for (int i = 0; i < kTile; ++i) sum = fmaf(tile_a[ty][i], tile_b[i][tx], sum);
        __syncthreads();
    }
    if (row < m && col < n) {
        float before = accumulate ? c[row * n + col] : 0.0f;
        c[row * n + col] = before + sum;
    }
}

__global__ void matmul_nn(const float* a, const float* b, float* c, int m, int n, int k) {
    matmul_tile<Layout::NN>(a, b, c, m, n, k, false);
}

__global__ void matmul_nt(const float* a, const float* b, float* c, int m, int n, int k,
                          int accumulate) {
    matmul_tile<Layout::NT>(a, b, c, m, n, k, accumulate != 0);
}

__global__ void matmul_tn(const float* a, const float* b, float* c, int m, int n, int k) {
    matmul_tile<Layout::TN>(a, b, c, m, n, k, false);
}

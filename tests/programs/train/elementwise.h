// Kernels that treat each element on its own, and sums over columns.
#pragma once

#include "model.h"

// A value in [-scale, scale) for each element, from its index alone.
__global__ void fill_uniform(float* out, size_t n, unsigned seed, float scale) {
    size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        unsigned x = static_cast<unsigned>(i) * 2654435761u ^ seed;
        x ^= x >> 16;
        x *= 0x7feb352du;
        x ^= x >> 15;
        x *= 0x846ca68bu;
        x ^= x >> 16;
        out[i] = (static_cast<float>(x >> 8) / 8388608.0f - 1.0f) * scale;
    }
}

__global__ void fill_constant(float* out, int n, float value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = value;
}

__global__ void bias_gelu(const float* x, const float* bias, float* out, int n, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i] + bias[i % width];
    out[i] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
}

__global__ void bias_gelu_gradient(const float* x, const float* bias, float* d, int n,
                                   int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i] + bias[i % width];
    float t = tanhf(0.7978845608f * (v + 0.044715f * v * v * v));
    float slope = 0.7978845608f * (1.0f + 3.0f * 0.044715f * v * v);
    d[i] *= 0.5f * (1.0f + t) + 0.5f * v * (1.0f - t * t) * slope;
}

__global__ void dropout(float* x, const float* uniform, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = uniform[i] <= kKeep ? x[i] / kKeep : 0.0f;
}

__global__ void dropout_gradient(float* d, const float* uniform, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) d[i] = uniform[i] <= kKeep ? d[i] / kKeep : 0.0f;
}

__global__ void add_residual(const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + y[i];
}

__global__ void add_residual_and_bias(const float* x, const float* y, const float* bias,
                                      float* out, int n, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + y[i] + bias[i % width];
}

__global__ void bias_gradient(const float* d, float* gradient, int rows, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= width) return;
    float sum = 0.0f;
    for (int row = 0; row < rows; ++row) sum += d[row * width + i];
    gradient[i] = sum;
}

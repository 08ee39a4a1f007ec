// Kernels that give each row of a matrix one wave: layer norm, softmax, cross entropy.
// Sums over a row go through lane shuffles, sums over a column through a fixed loop.
#pragma once

#include "model.h"

__device__ inline float row_sum(float x) {
    for (int offset = kRowThreads / 2; offset > 0; offset /= 2) x += __shfl_xor(x, offset);
    return x;
}

__device__ inline float row_max(float x) {
    for (int offset = kRowThreads / 2; offset > 0; offset /= 2)
        x = fmaxf(x, __shfl_xor(x, offset));
    return x;
}

__global__ void layer_norm(const float* x, const float* gain, const float* bias, float* out,
                           float* mean, float* scale, int width) {
    const float* row = x + blockIdx.x * width;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < width; i += kRowThreads) sum += row[i];
    float mu = row_sum(sum) / width;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < width; i += kRowThreads) {
        squares += (row[i] - mu) * (row[i] - mu);
    }
    float rs = 1.0f / sqrtf(row_sum(squares) / width + 1e-5f);
    for (int i = threadIdx.x; i < width; i += kRowThreads) {
        out[blockIdx.x * width + i] = (row[i] - mu) * rs * gain[i] + bias[i];
    }
    if (threadIdx.x == 0) {
        mean[blockIdx.x] = mu;
        scale[blockIdx.x] = rs;
    }
}

// Adds to dx: the input of a layer norm also feeds the residual connection.
__global__ void layer_norm_gradient(const float* dout, const float* x, const float* gain,
                                    const float* mean, const float* scale, float* dx, int width,
                                    int accumulate) {
    size_t base = static_cast<size_t>(blockIdx.x) * width;
    float mu = mean[blockIdx.x], rs = scale[blockIdx.x];
    float sum = 0.0f, dot = 0.0f;
    for (int i = threadIdx.x; i < width; i += kRowThreads) {
        float g = dout[base + i] * gain[i];
        sum += g;
        dot += g * (x[base + i] - mu) * rs;
    }
    sum = row_sum(sum) / width;
    dot = row_sum(dot) / width;
    for (int i = threadIdx.x; i < width; i += kRowThreads) {
        float g = dout[base + i] * gain[i];
        float d = rs * (g - sum - (x[base + i] - mu) * rs * dot);
        dx[base + i] = accumulate ? dx[base + i] + d : d;
    }
}

__global__ void layer_norm_parameter_gradient(const float* dout, const float* x,
                                              const float* mean, const float* scale, float* dgain,
                                              float* dbias, int rows, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= width) return;
    float gain = 0.0f, bias = 0.0f;
    for (int row = 0; row < rows; ++row) {
        float d = dout[row * width + i];
        gain += d * (x[row * width + i] - mean[row]) * scale[row];
        bias += d;
    }
    dgain[i] = gain;
    dbias[i] = bias;
}

// Row r sees columns 0..=r.
__global__ void causal_softmax(const float* scores, float* out, int n, float scale) {
    int row = blockIdx.x;
    float top = -1e30f;
    for (int i = threadIdx.x; i <= row; i += kRowThreads)
        top = fmaxf(top, scores[row * n + i] * scale);
    top = row_max(top);
    float sum = 0.0f;
    for (int i = threadIdx.x; i <= row; i += kRowThreads)
        sum += expf(scores[row * n + i] * scale - top);
    sum = row_sum(sum);
    for (int i = threadIdx.x; i < n; i += kRowThreads) {
        out[row * n + i] = i <= row ? expf(scores[row * n + i] * scale - top) / sum : 0.0f;
    }
}

__global__ void causal_softmax_gradient(const float* p, const float* dp, float* dscores, int n,
                                        float scale) {
    int row = blockIdx.x;
    float dot = 0.0f;
    for (int i = threadIdx.x; i < n; i += kRowThreads) dot += p[row * n + i] * dp[row * n + i];
    dot = row_sum(dot);
    for (int i = threadIdx.x; i < n; i += kRowThreads) {
        dscores[row * n + i] = p[row * n + i] * (dp[row * n + i] - dot) * scale;
    }
}

__global__ void cross_entropy(const float* logits, const int* targets, float* probabilities,
                              float* losses, int classes) {
    const float* row = logits + blockIdx.x * classes;
    float top = -1e30f;
    for (int i = threadIdx.x; i < classes; i += kRowThreads) top = fmaxf(top, row[i]);
    top = row_max(top);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < classes; i += kRowThreads) sum += expf(row[i] - top);
    sum = row_sum(sum);
    for (int i = threadIdx.x; i < classes; i += kRowThreads) {
        probabilities[blockIdx.x * classes + i] = expf(row[i] - top) / sum;
    }
    if (threadIdx.x == 0) losses[blockIdx.x] = logf(sum) + top - row[targets[blockIdx.x]];
}

__global__ void cross_entropy_gradient(float* probabilities, const int* targets, int rows,
                                       int classes) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * classes) return;
    float hot = targets[i / classes] == i % classes ? 1.0f : 0.0f;
    probabilities[i] = (probabilities[i] - hot) / rows;
}

__global__ void mean_loss(const float* losses, float* loss) {
    float sum = row_sum(losses[threadIdx.x]);
    if (threadIdx.x == 0) *loss = sum / kRowThreads;
}

// Integer atomics: how many rows have their target on top.
__global__ void count_hits(const float* logits, const int* targets, unsigned* hits, int classes) {
    const float* row = logits + blockIdx.x * classes;
    float top = -1e30f;
    for (int i = threadIdx.x; i < classes; i += kRowThreads) top = fmaxf(top, row[i]);
    top = row_max(top);
    if (threadIdx.x == 0 && row[targets[blockIdx.x]] == top) atomicAdd(hits, 1u);
}

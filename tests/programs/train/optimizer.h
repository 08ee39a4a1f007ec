// Multi-tensor Adam twice over: once with the pointers in a struct passed by value, once with
// the pointers in a table in device memory. Its running state is a device global.
#pragma once

#include "model.h"

__device__ OptimizerState optimizer;

constexpr int kListed = 12;              // tensors of one launch by value
constexpr unsigned kAdamChunk = 4096;    // elements of a block

struct Tensor {
    float* weight;
    float* gradient;
    float* first;  // moment
    float* second; // moment
    unsigned elements;
    unsigned first_block;
};

struct TensorList {
    Tensor tensors[kListed];
    int count;
};

__device__ inline void adam_element(const Tensor& t, unsigned i, float clip) {
    float g = t.gradient[i] * clip;
    float first = 0.9f * t.first[i] + 0.1f * g;
    float second = 0.999f * t.second[i] + 0.001f * g * g;
    t.first[i] = first;
    t.second[i] = second;
    float corrected = first / (1.0f - optimizer.beta1_power);
    float spread = sqrtf(second / (1.0f - optimizer.beta2_power)) + 1e-8f;
    t.weight[i] -= optimizer.learning_rate * corrected / spread;
}

__device__ inline void adam_chunk(const Tensor& t, unsigned block, float clip) {
    unsigned begin = (block - t.first_block) * kAdamChunk;
    unsigned end = min(begin + kAdamChunk, t.elements);
    for (unsigned i = begin + threadIdx.x; i < end; i += blockDim.x) adam_element(t, i, clip);
}

__global__ void adam_tensor_list(TensorList list) {
    int t = 0;
    while (t + 1 < list.count && list.tensors[t + 1].first_block <= blockIdx.x) ++t;
    adam_chunk(list.tensors[t], blockIdx.x, optimizer.clip);
}

__global__ void adam_pointer_table(const Tensor* table, int count) {
    int t = 0;
    while (t + 1 < count && table[t + 1].first_block <= blockIdx.x) ++t;
    adam_chunk(table[t], blockIdx.x, optimizer.clip);
}

// One block a tensor: the sum of its squared gradients.
__global__ void gradient_norm_partial(const Tensor* table, float* partial) {
    __shared__ float sums[kThreads];
    const Tensor& t = table[blockIdx.x];
    float sum = 0.0f;
    for (unsigned i = threadIdx.x; i < t.elements; i += kThreads) {
        sum = fmaf(t.gradient[i], t.gradient[i], sum);
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half /= 2) {
        if (static_cast<int>(threadIdx.x) < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = sums[0];
}

// One thread: the step's clip, learning rate and bias corrections.
__global__ void advance_optimizer(const float* partial, int count, float peak_rate) {
    float sum = 0.0f;
    for (int i = 0; i < count; ++i) sum += partial[i];
    float norm = sqrtf(sum);
    OptimizerState o = optimizer;
    o.step += 1;
    o.beta1_power *= 0.9f;
    o.beta2_power *= 0.999f;
    o.learning_rate = o.step < 8 ? peak_rate * static_cast<float>(o.step) / 8.0f : peak_rate;
    o.clip = norm > 1.0f ? 1.0f / norm : 1.0f;
    optimizer = o;
}

// Order-free: a sum of the weights' bits.
__global__ void checksum(const float* x, unsigned n, unsigned long long* sum) {
    __shared__ unsigned long long sums[kThreads];
    unsigned long long mine = 0;
    for (unsigned i = blockIdx.x * kThreads + threadIdx.x; i < n; i += gridDim.x * kThreads) {
        mine += static_cast<unsigned long long>(__float_as_uint(x[i])) * (i % 65521u + 1u);
    }
    sums[threadIdx.x] = mine;
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half /= 2) {
        if (static_cast<int>(threadIdx.x) < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(sum, sums[0]);
}

// Embedding lookup and its gradient. Two positions of a batch may hold the same token, so the
// gradient is summed in fixed point: integer addition gives the same sum in any order.
#pragma once

#include "model.h"

constexpr float kFixedPoint = 16777216.0f; // 2^24

struct Shards {
    float* rows[kShards];
    unsigned rows_per_shard;
};

__device__ inline float* embedding_row(const Shards& shards, int token, int width) {
    unsigned shard = token / shards.rows_per_shard;
    unsigned row = token % shards.rows_per_shard;
    return shards.rows[shard] + static_cast<size_t>(row) * width;
}

__global__ void embed_tokens(Shards shards, const int* tokens, float* out, int width) {
    const float* row = embedding_row(shards, tokens[blockIdx.x], width);
    for (int i = threadIdx.x; i < width; i += blockDim.x) out[blockIdx.x * width + i] = row[i];
}

__global__ void add_positions(float* x, const float* positions, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += positions[i];
}

__global__ void embed_gradient_add(Shards gradients, const int* tokens, const float* dx,
                                   int width) {
    int* row = reinterpret_cast<int*>(embedding_row(gradients, tokens[blockIdx.x], width));
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        atomicAdd(&row[i], __float2int_rn(dx[blockIdx.x * width + i] * kFixedPoint));
    }
}

// Turns the sums into floats; the first position of a token does it for all.
__global__ void embed_gradient_scale(Shards gradients, const int* tokens, int width) {
    for (unsigned before = 0; before < blockIdx.x; ++before) {
        if (tokens[before] == tokens[blockIdx.x]) return;
    }
    float* row = embedding_row(gradients, tokens[blockIdx.x], width);
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        row[i] = static_cast<float>(__float_as_int(row[i])) / kFixedPoint;
    }
}

__global__ void position_gradient(float* gradient, const float* dx, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) gradient[i] = dx[i];
}

// How often each bucket of tokens was seen since the start.
__global__ void count_tokens(const int* tokens, unsigned* buckets, unsigned bucket_count) {
    atomicAdd(&buckets[tokens[threadIdx.x] % bucket_count], 1u);
}

// Sizes of the model and the kernels' launch shapes, shared by all kernel files.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                     \
    do {                                                                                \
        hipError_t error_ = (call);                                                     \
        if (error_ != hipSuccess) {                                                     \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,               \
                    hipGetErrorName(error_));                                           \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

constexpr int kTokens = 64;     // tokens of a batch
constexpr int kClasses = 256;   // classes of the output head
constexpr int kLayers = 2;      // feed-forward layers
constexpr int kShards = 8;      // pieces of the embedding table
constexpr int kThreads = 256;   // threads of a block, but for the row kernels
constexpr int kRowThreads = 64; // row kernels: one wave a row
constexpr int kTile = 16;
constexpr float kKeep = 0.875f; // dropout keeps this part

// What the optimizer needs every step: lives in the device global `optimizer`.
struct OptimizerState {
    unsigned step;
    float beta1_power;
    float beta2_power;
    float learning_rate;
    float clip;
};

inline unsigned blocks_for(size_t elements, size_t per_block) {
    return static_cast<unsigned>((elements + per_block - 1) / per_block);
}

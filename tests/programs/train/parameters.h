// The parameters of the model and their gradients and moments on the device.
#pragma once

#include <vector>

#include "elementwise.h"
#include "optimizer.h"

struct Dimensions {
    int width;
    int hidden;
    unsigned rows_per_shard;
};

class Parameters {
  public:
    // Bytes of one parameter: weight, gradient and two moments.
    static constexpr size_t kBytesEach = 4 * sizeof(float);

    explicit Parameters(unsigned seed) : seed_(seed) {}

    Tensor add(size_t elements, float scale, float fill = 0.0f) {
        Tensor t = {};
        t.elements = static_cast<unsigned>(elements);
        for (float** pointer : {&t.weight, &t.gradient, &t.first, &t.second}) {
            CHECK(hipMalloc(pointer, elements * sizeof(float)));
            CHECK(hipMemset(*pointer, 0, elements * sizeof(float)));
        }
        if (scale > 0.0f) {
            unsigned blocks = blocks_for(elements, kThreads * 8);
            seed_ = seed_ * 1664525u + 1013904223u;
            fill_uniform<<<blocks, kThreads>>>(t.weight, elements, seed_, scale);
        } else {
            unsigned blocks = blocks_for(elements, kThreads);
            fill_constant<<<blocks, kThreads>>>(t.weight, static_cast<int>(elements), fill);
        }
        CHECK(hipGetLastError());
        all_.push_back(t);
        return t;
    }

    const std::vector<Tensor>& all() const { return all_; }

    size_t elements() const {
        size_t sum = 0;
        for (const Tensor& t : all_) sum += t.elements;
        return sum;
    }

    // Weights in the order of their creation.
    void save(const char* path) const {
        FILE* out = fopen(path, "wb");
        if (!out) {
            perror(path);
            exit(1);
        }
        std::vector<float> host;
        for (const Tensor& t : all_) {
            host.resize(t.elements);
            size_t bytes = t.elements * sizeof(float);
            CHECK(hipMemcpy(host.data(), t.weight, bytes, hipMemcpyDeviceToHost));
            if (fwrite(host.data(), 1, bytes, out) != bytes) {
                perror(path);
                exit(1);
            }
        }
        if (fclose(out) != 0) {
            perror(path);
            exit(1);
        }
    }

    void release() {
        for (const Tensor& t : all_) {
            for (float* pointer : {t.weight, t.gradient, t.first, t.second}) {
                CHECK(hipFree(pointer));
            }
        }
        all_.clear();
    }

  private:
    unsigned seed_;
    std::vector<Tensor> all_;
};

// Numbers the blocks of a launch over `tensors`; returns how many there are.
inline unsigned number_blocks(std::vector<Tensor>& tensors) {
    unsigned blocks = 0;
    for (Tensor& t : tensors) {
        t.first_block = blocks;
        blocks += blocks_for(t.elements, kAdamChunk);
    }
    return blocks;
}

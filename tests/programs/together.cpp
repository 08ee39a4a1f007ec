// Work-groups that wait for one another in the middle of a kernel, at a barrier of atomics, as many as the GPU runs at once.
//
//   together GROUPS...      launches as many, each once as it spins and once as it sleeps
#include <vector>

#include "check.h"

// All work-items have come before any goes on: `round` counts from 1.
template <bool sleeps>
__device__ void wait_for_all(unsigned* arrived, unsigned round) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __hip_atomic_fetch_add(arrived, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
        while (__hip_atomic_load(arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < round * gridDim.x)
            if (sleeps) __builtin_amdgcn_s_sleep(1);
    }
    __syncthreads();
}

// Each work-group gives its number on to the next one, round by round.
template <bool sleeps>
__global__ void pass_on(unsigned* arrived, unsigned* from, unsigned* to, unsigned rounds) {
    __shared__ unsigned last;
    for (unsigned round = 1; round <= rounds; ++round) {
        unsigned own = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
        if (threadIdx.x == 0) last = round;
        __syncthreads();
        to[own] = from[(own + blockDim.x) % all] + last;
        wait_for_all<sleeps>(arrived, round);
        unsigned* spare = from;
        from = to;
        to = spare;
    }
}

int main(int argc, char** argv) {
    const unsigned items = 256, rounds = 4;
    for (int at = 1; at < argc; ++at) {
        unsigned groups = (unsigned)atoi(argv[at]), all = groups * items;
        for (bool sleeps : {true, false}) {
            std::vector<unsigned> words(all);
            for (unsigned i = 0; i < all; ++i) words[i] = i * 7 + groups;
            unsigned *arrived, *from, *to;
            CHECK(hipMalloc(&arrived, sizeof *arrived));
            CHECK(hipMalloc(&from, all * sizeof *from));
            CHECK(hipMalloc(&to, all * sizeof *to));
            CHECK(hipMemset(arrived, 0, sizeof *arrived));
            CHECK(hipMemcpy(from, words.data(), all * sizeof *from, hipMemcpyHostToDevice));
            auto kernel = sleeps ? pass_on<true> : pass_on<false>;
            kernel<<<groups, items>>>(arrived, from, to, rounds);
            CHECK(hipDeviceSynchronize());
            std::vector<unsigned> found(all);
            CHECK(hipMemcpy(found.data(), from, all * sizeof *from, hipMemcpyDeviceToHost));
            unsigned wrong = 0;
            for (unsigned i = 0; i < all; ++i)
                wrong += found[i] != words[(i + rounds * items) % all] + rounds * (rounds + 1) / 2;
            printf("groups %u %s wrong %u\n", groups, sleeps ? "sleep" : "spin", wrong);
            fflush(stdout);
            CHECK(hipFree(arrived));
            CHECK(hipFree(from));
            CHECK(hipFree(to));
        }
    }
    return 0;
}

// Work-groups that wait for one another in the middle of a kernel, as many as the GPU runs at once: at a barrier of atomics,
// in sleep or not, and at that of a cooperative launch.
//
//   together GROUPS[xLDS]...      launches as many, with so many bytes of LDS each, in each way; ends with 1 where a
//                                 word is wrong
#include <vector>

#include "check.h"

#include <hip/hip_cooperative_groups.h>

// The last with private memory, of which runtimes save nothing with the registers.
enum Way { Sleep, Spin, Grid, Private };
static const char* const names[] = {"sleep", "spin", "grid", "private"};

// All work-items have come before any goes on: `round` counts from 1.
template <Way way>
__device__ void wait_for_all(unsigned* arrived, unsigned round) {
    if (way == Grid) return cooperative_groups::this_grid().sync();
    __syncthreads();
    if (threadIdx.x == 0) {
        __hip_atomic_fetch_add(arrived, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
        while (__hip_atomic_load(arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < round * gridDim.x)
            if (way == Sleep) __builtin_amdgcn_s_sleep(1);
    }
    __syncthreads();
}

// Each work-group gives its number on to the next one, round by round.
template <Way way>
__global__ void pass_on(unsigned* arrived, unsigned* from, unsigned* to, unsigned rounds) {
    __shared__ unsigned last;
    volatile unsigned own_rounds[way == Private ? 150 : 1];
    for (unsigned round = 1; round <= rounds; ++round) {
        unsigned own = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
        if (threadIdx.x == 0) last = round;
        __syncthreads();
        unsigned place = way == Private ? (threadIdx.x + round) % 150 : 0;
        own_rounds[place] = last;
        wait_for_all<way>(arrived, 2 * round - 1);
        to[own] = from[(own + blockDim.x) % all] + own_rounds[place];
        wait_for_all<way>(arrived, 2 * round);
        unsigned* spare = from;
        from = to;
        to = spare;
    }
}

int main(int argc, char** argv) {
    const unsigned items = 256, rounds = 4;
    int cooperates = 0;
    CHECK(hipDeviceGetAttribute(&cooperates, hipDeviceAttributeCooperativeLaunch, 0));
    printf("cooperative launch %d\n", cooperates);
    bool all_right = true;
    for (int at = 1; at < argc; ++at) {
        char* rest;
        unsigned groups = (unsigned)strtoul(argv[at], &rest, 10), all = groups * items;
        unsigned lds = *rest == 'x' ? (unsigned)strtoul(rest + 1, nullptr, 10) : 0;
        for (Way way : {Sleep, Spin, Grid, Private}) {
            std::vector<unsigned> words(all);
            for (unsigned i = 0; i < all; ++i) words[i] = i * 7 + groups;
            unsigned *arrived, *from, *to;
            CHECK(hipMalloc(&arrived, sizeof *arrived));
            CHECK(hipMalloc(&from, all * sizeof *from));
            CHECK(hipMalloc(&to, all * sizeof *to));
            CHECK(hipMemset(arrived, 0, sizeof *arrived));
            CHECK(hipMemcpy(from, words.data(), all * sizeof *from, hipMemcpyHostToDevice));
            if (way == Grid) {
                unsigned told = rounds;
                void* arguments[] = {&arrived, &from, &to, &told};
                CHECK(hipLaunchCooperativeKernel((void*)pass_on<Grid>, groups, items, arguments, lds, nullptr));
            } else {
                auto kernel = way == Sleep ? pass_on<Sleep> : way == Spin ? pass_on<Spin> : pass_on<Private>;
                kernel<<<groups, items, lds>>>(arrived, from, to, rounds);
            }
            CHECK(hipDeviceSynchronize());
            std::vector<unsigned> found(all);
            CHECK(hipMemcpy(found.data(), from, all * sizeof *from, hipMemcpyDeviceToHost));
            unsigned wrong = 0;
            for (unsigned i = 0; i < all; ++i)
                wrong += found[i] != words[(i + rounds * items) % all] + rounds * (rounds + 1) / 2;
            printf("groups %u %s wrong %u\n", groups, names[way], wrong);
            fflush(stdout);
            all_right &= wrong == 0;
            CHECK(hipFree(arrived));
            CHECK(hipFree(from));
            CHECK(hipFree(to));
        }
    }
    void* none[] = {nullptr, nullptr, nullptr, nullptr};
    hipError_t error = hipLaunchCooperativeKernel((void*)pass_on<Grid>, 100000, items, none, 0, nullptr);
    printf("too many %s\n", hipGetErrorName(error));
    return all_right ? 0 : 1;
}

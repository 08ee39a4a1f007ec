// Launches in ways of which a call does not say what runs, or where: every round adds one to all words
// of its memory, from the last to the first, in a stream that waits for no other.
//   unknown_launches by-pointer | impl | multi | graph ROUNDS LOG
#include <hip/hip_ext.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "check.h"

namespace hip_impl {
void hipLaunchKernelGGLImpl(uintptr_t function, const dim3& blocks, const dim3& threads,
                            uint32_t lds, hipStream_t stream, void** kernarg);
}

constexpr unsigned kWords = 1 << 20;
constexpr unsigned kGroups = 64, kThreads = 256;

__global__ void add_one(unsigned* words, unsigned count) {
    unsigned step = gridDim.x * blockDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        words[count - 1 - i] += 1;
    }
}

static void* const kStub = reinterpret_cast<void*>(add_one);

int main(int argc, char** argv) {
    const char* way = argc > 1 ? argv[1] : "by-pointer";
    unsigned rounds = argc > 2 ? strtoul(argv[2], nullptr, 10) : 10;
    FILE* log = argc > 3 ? fopen(argv[3], "w") : stdout;
    unsigned *words, count = kWords;
    CHECK(hipMalloc(&words, kWords * sizeof(unsigned)));
    CHECK(hipMemset(words, 0, kWords * sizeof(unsigned)));
    hipStream_t stream;
    CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    void* args[] = {&words, &count};
    hipLaunchParams list = {kStub, dim3(kGroups), dim3(kThreads), args, 0, stream};
    hipGraph_t graph;
    hipGraphExec_t exec;
    if (!strcmp(way, "graph")) {
        CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
        add_one<<<kGroups, kThreads, 0, stream>>>(words, count);
        CHECK(hipStreamEndCapture(stream, &graph));
        CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    }
    std::vector<unsigned> got(kWords);
    for (unsigned round = 1; round <= rounds; ++round) {
        if (!strcmp(way, "by-pointer")) {
            CHECK(hipConfigureCall(dim3(kGroups), dim3(kThreads), 0, stream));
            CHECK(hipSetupArgument(&words, sizeof(words), 0));
            CHECK(hipSetupArgument(&count, sizeof(count), sizeof(words)));
            CHECK(hipLaunchByPtr(kStub));
        } else if (!strcmp(way, "impl")) {
            struct {
                unsigned* words;
                unsigned count;
            } buffer = {words, count};
            size_t size = sizeof(buffer);
            void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &buffer, HIP_LAUNCH_PARAM_BUFFER_SIZE,
                             &size, HIP_LAUNCH_PARAM_END};
            hip_impl::hipLaunchKernelGGLImpl(uintptr_t(kStub), dim3(kGroups), dim3(kThreads), 0,
                                             stream, extra);
        } else if (!strcmp(way, "multi")) {
            CHECK(hipExtLaunchMultiKernelMultiDevice(&list, 1, 0));
        } else {
            CHECK(hipGraphLaunch(exec, stream));
        }
        CHECK(hipStreamSynchronize(stream));
        CHECK(hipMemcpy(got.data(), words, kWords * sizeof(unsigned), hipMemcpyDeviceToHost));
        for (unsigned i = 0; i < kWords; ++i) {
            if (got[i] != round) {
                fprintf(stderr, "round %u: word %u holds %u\n", round, i, got[i]);
                return 1;
            }
        }
        fprintf(log, "round %u\n", round);
        fflush(log);
    }
}

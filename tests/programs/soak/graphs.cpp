// Graphs: captured ones of kernels, copies and fills, launched again and again, made anew now and
// then, with a kernel whose arguments change between launches.
//
//   graphs [ROUNDS]
#include "rounds.h"

constexpr unsigned kWords = 1 << 16;

static hipGraphExec_t capture(hipStream_t stream, unsigned* a, unsigned* b, unsigned* scratch,
                              unsigned round) {
    hipGraph_t graph;
    hipGraphExec_t exec;
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
    advance_words<<<4, 256, 0, stream>>>(a, kWords, round);
    CHECK(hipMemcpyAsync(scratch, a, kWords, hipMemcpyDeviceToDevice, stream));
    advance_words<<<1, 256, 0, stream>>>(scratch, kWords / 4, round + 1);
    CHECK(hipMemsetAsync(b + round % 1000, round % 251, 4096, stream));
    CHECK(hipMemcpyAsync(b + kWords / 2, scratch, kWords, hipMemcpyDeviceToDevice, stream));
    CHECK(hipStreamEndCapture(stream, &graph));
    CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    CHECK(hipGraphDestroy(graph));
    return exec;
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 60);
    unsigned *a = words_of(kWords, 1), *b = words_of(kWords, 2), *scratch = words_of(kWords, 3);
    unsigned* other = words_of(1 << 20, 4);
    hipStream_t stream;
    CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));

    unsigned from = 0, count = 1024;
    unsigned* target = other;
    void* arguments[] = {&target, &count, &from};
    hipKernelNodeParams node = {};
    node.func = reinterpret_cast<void*>(advance_words);
    node.gridDim = dim3(1);
    node.blockDim = dim3(256);
    node.kernelParams = arguments;
    hipGraph_t built;
    hipGraphNode_t kernel;
    hipGraphExec_t exec_built;
    CHECK(hipGraphCreate(&built, 0));
    CHECK(hipGraphAddKernelNode(&kernel, built, nullptr, 0, &node));
    CHECK(hipGraphInstantiate(&exec_built, built, nullptr, nullptr, 0));

    hipGraphExec_t exec = nullptr;
    for (unsigned round = 0; round < rounds; ++round) {
        if (round % 8 == 0) {
            if (exec) CHECK(hipGraphExecDestroy(exec));
            exec = capture(stream, a, b, scratch, round);
        }
        CHECK(hipGraphLaunch(exec, stream));
        target = other + mix(round) % ((1 << 20) - count);
        from = round;
        CHECK(hipGraphExecKernelNodeSetParams(exec_built, kernel, &node));
        CHECK(hipGraphLaunch(exec_built, stream));
        CHECK(hipStreamSynchronize(stream));
        say_round(round, digest(b, kWords));
    }
    say_round(rounds, digest(a, kWords) + 3 * digest(b, kWords) + 5 * digest(other, 1 << 20));
}

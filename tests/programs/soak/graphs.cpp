// Graphs: captured ones of kernels, copies and fills on two streams, launched again and again, made anew
// now and then, with a kernel whose arguments change between launches; and an instance that is brought
// up to date with another capture.
//
//   graphs [ROUNDS]
#include "rounds.h"

constexpr unsigned kWords = 1 << 16;

static hipGraph_t capture_update(hipStream_t stream, unsigned* words, unsigned round) {
    hipGraph_t graph;
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
    advance_words<<<1, 256, 0, stream>>>(words + mix(round) % kWords, 1024, round);
    CHECK(hipStreamEndCapture(stream, &graph));
    return graph;
}

static hipGraphExec_t capture(hipStream_t stream, unsigned* a, unsigned* b, unsigned* scratch,
                              unsigned* apart, unsigned round) {
    hipGraph_t graph;
    hipGraphExec_t exec;
    // A new one: HIP 5.2 does not capture the same twice.
    hipStream_t branch;
    CHECK(hipStreamCreateWithFlags(&branch, hipStreamNonBlocking));
    hipEvent_t fork, join;
    CHECK(hipEventCreateWithFlags(&fork, hipEventDisableTiming));
    CHECK(hipEventCreateWithFlags(&join, hipEventDisableTiming));
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
    CHECK(hipEventRecord(fork, stream));
    CHECK(hipStreamWaitEvent(branch, fork, 0));
    advance_words<<<2, 256, 0, branch>>>(apart + round, kWords, round);
    CHECK(hipEventRecord(join, branch));
    CHECK(hipStreamWaitEvent(stream, join, 0));
    advance_words<<<4, 256, 0, stream>>>(a, kWords, round);
    CHECK(hipMemcpyAsync(scratch, a, kWords, hipMemcpyDeviceToDevice, stream));
    advance_words<<<1, 256, 0, stream>>>(scratch, kWords / 4, round + 1);
    CHECK(hipMemsetAsync(b + round % 1000, round % 251, 4096, stream));
    CHECK(hipMemcpyAsync(b + kWords / 2, scratch, kWords, hipMemcpyDeviceToDevice, stream));
    CHECK(hipStreamEndCapture(stream, &graph));
    CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    CHECK(hipGraphDestroy(graph));
    CHECK(hipEventDestroy(fork));
    CHECK(hipEventDestroy(join));
    CHECK(hipStreamDestroy(branch));
    return exec;
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 60);
    unsigned *a = words_of(kWords, 1), *b = words_of(kWords, 2), *scratch = words_of(kWords, 3);
    unsigned *other = words_of(1 << 20, 4), *apart = words_of(2 * kWords, 5);
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

    hipGraphExec_t exec = nullptr, updated;
    hipGraph_t graph = capture_update(stream, apart, 0);
    CHECK(hipGraphInstantiate(&updated, graph, nullptr, nullptr, 0));
    CHECK(hipGraphDestroy(graph));
    for (unsigned round = 0; round < rounds; ++round) {
        if (round % 8 == 0) {
            if (exec) CHECK(hipGraphExecDestroy(exec));
            exec = capture(stream, a, b, scratch, apart, round);
        }
        CHECK(hipGraphLaunch(exec, stream));
        target = other + mix(round) % ((1 << 20) - count);
        from = round;
        CHECK(hipGraphExecKernelNodeSetParams(exec_built, kernel, &node));
        CHECK(hipGraphLaunch(exec_built, stream));
        graph = capture_update(stream, apart, round);
        hipGraphNode_t wrong;
        hipGraphExecUpdateResult result;
        CHECK(hipGraphExecUpdate(updated, graph, &wrong, &result));
        CHECK(hipGraphDestroy(graph));
        CHECK(hipGraphLaunch(updated, stream));
        CHECK(hipStreamSynchronize(stream));
        say_round(round, digest(b, kWords));
    }
    say_round(rounds, digest(a, kWords) + 3 * digest(b, kWords) + 5 * digest(other, 1 << 20) +
                          7 * digest(apart, 2 * kWords));
}

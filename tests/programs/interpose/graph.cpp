// Captures two streams into a graph, instantiates it and launches it; then, as it is told, has the instance
// do something else, and launches that.
//   graph none | exec | update | graph | clone | inside
#include <cstring>

#include "../check.h"

constexpr unsigned kWords = 64;

__global__ void increment(unsigned* words) { words[threadIdx.x] += 1; }
__global__ void add(unsigned* words, unsigned value) { words[threadIdx.x] += value; }

static hipGraph_t capture(hipStream_t stream, hipStream_t branch, unsigned* words, unsigned* other,
                          unsigned value) {
    hipGraph_t graph;
    hipEvent_t fork, join;
    CHECK(hipEventCreate(&fork));
    CHECK(hipEventCreate(&join));
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    CHECK(hipEventRecord(fork, stream));
    CHECK(hipStreamWaitEvent(branch, fork, 0));
    increment<<<1, kWords, 0, stream>>>(words);
    CHECK(hipMemsetAsync(other, 0, kWords * sizeof(unsigned), branch));
    add<<<1, kWords, 0, branch>>>(other, value);
    CHECK(hipEventRecord(join, branch));
    CHECK(hipStreamWaitEvent(stream, join, 0));
    // HIP 5.2 takes a branch for joined only when something comes after it.
    increment<<<1, kWords, 0, stream>>>(words);
    CHECK(hipStreamEndCapture(stream, &graph));
    return graph;
}

// As little as HIP 5.2 can put in place of another.
static hipGraph_t capture_add(hipStream_t stream, unsigned* words, unsigned value) {
    hipGraph_t graph;
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    add<<<1, kWords, 0, stream>>>(words, value);
    CHECK(hipStreamEndCapture(stream, &graph));
    return graph;
}

int main(int argc, char** argv) {
    const char* change = argc > 1 ? argv[1] : "none";
    unsigned *words, *other;
    size_t bytes = kWords * sizeof(unsigned);
    CHECK(hipMalloc(&words, bytes));
    CHECK(hipMalloc(&other, bytes));
    CHECK(hipMemset(words, 0, bytes));
    hipStream_t stream, branch;
    CHECK(hipStreamCreate(&stream));
    CHECK(hipStreamCreate(&branch));
    hipGraph_t graph = capture(stream, branch, words, other, 7);
    hipGraphExec_t exec;
    CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    for (int i = 0; i < 5; ++i) CHECK(hipGraphLaunch(exec, stream));
    CHECK(hipStreamSynchronize(stream));

    unsigned value = 30;
    void* arguments[] = {&words, &value};
    hipKernelNodeParams node = {};
    node.func = reinterpret_cast<void*>(add);
    node.gridDim = dim3(1);
    node.blockDim = dim3(kWords);
    node.kernelParams = arguments;
    if (!strcmp(change, "exec")) {
        hipGraphNode_t nodes[8];
        size_t count = 8;
        CHECK(hipGraphGetNodes(graph, nodes, &count));
        for (size_t i = 0; i < count; ++i) {
            hipGraphNodeType type;
            CHECK(hipGraphNodeGetType(nodes[i], &type));
            if (type != hipGraphNodeTypeKernel) continue;
            CHECK(hipGraphExecKernelNodeSetParams(exec, nodes[i], &node));
            break;
        }
    } else if (!strcmp(change, "update")) {
        hipGraphNode_t wrong;
        hipGraphExecUpdateResult result;
        CHECK(hipGraphInstantiate(&exec, capture_add(stream, words, 1), nullptr, nullptr, 0));
        CHECK(hipGraphExecUpdate(exec, capture_add(stream, other, 9), &wrong, &result));
    } else if (!strcmp(change, "graph")) {
        hipGraphNode_t added;
        CHECK(hipGraphAddKernelNode(&added, graph, nullptr, 0, &node));
        CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    } else if (!strcmp(change, "inside")) {
        hipStreamCaptureStatus status;
        hipGraphNode_t added;
        CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
        increment<<<1, kWords, 0, stream>>>(other);
        CHECK(hipStreamGetCaptureInfo_v2(stream, &status, nullptr, &graph, nullptr, nullptr));
        CHECK(hipGraphAddKernelNode(&added, graph, nullptr, 0, &node));
        CHECK(hipStreamUpdateCaptureDependencies(stream, &added, 1,
                                                 hipStreamAddCaptureDependencies));
        increment<<<1, kWords, 0, stream>>>(other);
        CHECK(hipStreamEndCapture(stream, &graph));
        CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    } else if (!strcmp(change, "clone")) {
        hipGraph_t clone;
        CHECK(hipGraphClone(&clone, graph));
        CHECK(hipGraphInstantiate(&exec, clone, nullptr, nullptr, 0));
    }
    CHECK(hipGraphLaunch(exec, stream));
    CHECK(hipStreamSynchronize(stream));
    unsigned got[2];
    CHECK(hipMemcpy(&got[0], words, sizeof(unsigned), hipMemcpyDeviceToHost));
    CHECK(hipMemcpy(&got[1], other, sizeof(unsigned), hipMemcpyDeviceToHost));
    printf("graph %u %u\n", got[0], got[1]);
}

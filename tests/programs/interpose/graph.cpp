// Captures a stream, instantiates the graph and launches it.
#include "../check.h"

__global__ void increment(unsigned* word) { *word += 1; }

int main() {
    unsigned* word;
    CHECK(hipMalloc(&word, sizeof(unsigned)));
    CHECK(hipMemset(word, 0, sizeof(unsigned)));
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    hipGraph_t graph;
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    increment<<<1, 1, 0, stream>>>(word);
    CHECK(hipStreamEndCapture(stream, &graph));
    hipGraphExec_t exec;
    CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    for (int i = 0; i < 5; ++i) CHECK(hipGraphLaunch(exec, stream));
    CHECK(hipStreamSynchronize(stream));
    unsigned got = 0;
    CHECK(hipMemcpy(&got, word, sizeof(got), hipMemcpyDeviceToHost));
    printf("graph %u\n", got);
    CHECK(hipGraphExecDestroy(exec));
    CHECK(hipGraphDestroy(graph));
    CHECK(hipFree(word));
}

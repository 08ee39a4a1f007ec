// Gives the GPU much more to do than it has done, on the default stream and on one that waits for nothing, and then
// waits for it all. Another thread captures a small graph over and over, if it is told to: what anybody puts into its
// stream meanwhile is in the graph, and the sum is wrong.
//
//   ahead ROUNDS LOG LAUNCHES [captures]
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "check.h"

constexpr unsigned kWords = 1 << 14;
constexpr unsigned kTurns = 50;

__global__ void add(unsigned* words, unsigned value) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned word = words[i];
    for (unsigned turn = 0; turn < kTurns; ++turn) word = word * 5 + value;
    words[i] = word;
}

__global__ void count(unsigned* counter) { atomicAdd(counter, 1); }

static unsigned added(unsigned word, unsigned value) {
    for (unsigned turn = 0; turn < kTurns; ++turn) word = word * 5 + value;
    return word;
}

static std::atomic<bool> over{false};

static void capture() {
    unsigned *counter, *words;
    CHECK(hipMalloc(&counter, sizeof(unsigned)));
    CHECK(hipMalloc(&words, kWords * sizeof(unsigned)));
    CHECK(hipMemset(counter, 0, sizeof(unsigned)));
    hipStream_t stream;
    CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    unsigned expected = 0;
    while (!over) {
        hipGraph_t graph;
        hipGraphExec_t exec;
        // The stream has something to do while it captures.
        for (unsigned turn = 0; turn < 20; ++turn) {
            add<<<kWords / 256, 256, 0, stream>>>(words, turn);
        }
        CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
        count<<<1, 1, 0, stream>>>(counter);
        usleep(500);
        count<<<1, 1, 0, stream>>>(counter);
        CHECK(hipStreamEndCapture(stream, &graph));
        size_t nodes;
        CHECK(hipGraphGetNodes(graph, nullptr, &nodes));
        if (nodes != 2) {
            fprintf(stderr, "a graph of %zu nodes\n", nodes);
            exit(1);
        }
        CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
        CHECK(hipGraphLaunch(exec, stream));
        CHECK(hipStreamSynchronize(stream));
        CHECK(hipGraphExecDestroy(exec));
        CHECK(hipGraphDestroy(graph));
        expected += 2;
        unsigned counted;
        CHECK(hipMemcpyWithStream(&counted, counter, sizeof counted, hipMemcpyDeviceToHost, stream));
        if (counted != expected) {
            fprintf(stderr, "counted %u and not %u\n", counted, expected);
            exit(1);
        }
        usleep(20000);
    }
}

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    unsigned rounds = strtoul(argv[1], nullptr, 10);
    unsigned launches = strtoul(argv[3], nullptr, 10);
    FILE* log = fopen(argv[2], "a");
    hipStream_t streams[2] = {nullptr, nullptr};
    CHECK(hipStreamCreateWithFlags(&streams[1], hipStreamNonBlocking));
    unsigned *words[2], expected[2] = {};
    for (unsigned*& each : words) {
        CHECK(hipMalloc(&each, kWords * sizeof(unsigned)));
        CHECK(hipMemset(each, 0, kWords * sizeof(unsigned)));
    }
    // HIP 5.2 crashes where two threads launch the code object's first kernels at once.
    count<<<1, 1>>>(words[0]);
    CHECK(hipMemset(words[0], 0, sizeof(unsigned)));
    CHECK(hipDeviceSynchronize());
    std::thread capturing;
    if (argc > 4 && !strcmp(argv[4], "captures")) capturing = std::thread(capture);
    std::vector<unsigned> now(kWords);
    for (unsigned round = 0; round < rounds; ++round) {
        for (unsigned launch = 0; launch < launches; ++launch) {
            unsigned one = launch % 2;
            add<<<kWords / 256, 256, 0, streams[one]>>>(words[one], round + launch);
            expected[one] = added(expected[one], round + launch);
        }
        for (unsigned one : {0, 1}) {
            CHECK(hipMemcpyWithStream(now.data(), words[one], kWords * sizeof(unsigned),
                                      hipMemcpyDeviceToHost, streams[one]));
            for (unsigned word : now) {
                if (word != expected[one]) {
                    fprintf(stderr, "round %u: %u and not %u\n", round, word, expected[one]);
                    return 1;
                }
            }
        }
        fprintf(log, "round %u %08x %08x\n", round, expected[0], expected[1]);
        fflush(log);
        rounds = rounds_in_all(argv[2], rounds);
    }
    over = true;
    if (capturing.joinable()) capturing.join();
    return 0;
}

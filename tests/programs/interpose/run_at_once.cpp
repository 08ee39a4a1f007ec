// Calls on a stream that is being captured which HIP 5.2 runs at once, all the same: says what they wrote before
// the capture has ended.
#include "../check.h"

int main() {
    unsigned* words;
    CHECK(hipMalloc(&words, 256));
    CHECK(hipMemset(words, 0, 256));
    hipStream_t stream;
    CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
    CHECK(hipStreamWriteValue32(stream, words, 5, 0));
    CHECK(hipStreamWriteValue64(stream, words + 2, 7, 0));
    unsigned got[4] = {};
    for (int look = 0; look < 1000 && got[2] != 7; ++look) {
        CHECK(hipMemcpy(got, words, sizeof got, hipMemcpyDeviceToHost));
    }
    printf("written %u %u\n", got[0], got[2]);
    fflush(stdout);
    // Nothing was captured, or something: as HIP says.
    hipGraph_t graph;
    (void)hipStreamEndCapture(stream, &graph);
}

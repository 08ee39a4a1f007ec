// Stream captures that go wrong, then work that goes on. None of them is under way any more.
//   captures fails        begins that fail, ends without a begin
//   captures destroyed    a stream destroyed while it captures
//   captures unmatched    an end that fails, on a stream that captures until a SIGTERM: "ended"
#include <csignal>
#include <cstring>
#include <unistd.h>

#include "check.h"

__global__ void count_up(unsigned* word) { *word += 1; }

static volatile sig_atomic_t told;
static void tell(int) { told = 1; }

static bool fails(hipError_t status) {
    (void)hipGetLastError();
    return status != hipSuccess;
}

int main(int argc, char** argv) {
    const char* what = argc > 1 ? argv[1] : "fails";
    signal(SIGTERM, tell);
    unsigned* word;
    CHECK(hipMalloc(&word, sizeof(unsigned)));
    CHECK(hipMemset(word, 0, sizeof(unsigned)));
    hipStream_t one, two;
    CHECK(hipStreamCreate(&one));
    CHECK(hipStreamCreate(&two));
    hipGraph_t graph = nullptr;
    bool as_expected = true;
    if (!strcmp(what, "fails")) {
        as_expected &= fails(hipStreamBeginCapture(nullptr, hipStreamCaptureModeGlobal));
        as_expected &= fails(hipStreamBeginCapture(one, hipStreamCaptureMode(77)));
        as_expected &= fails(hipStreamEndCapture(two, &graph));
        CHECK(hipStreamBeginCapture(one, hipStreamCaptureModeRelaxed));
        as_expected &= fails(hipStreamBeginCapture(one, hipStreamCaptureModeRelaxed));
        CHECK(hipStreamEndCapture(one, &graph));
    } else if (!strcmp(what, "destroyed")) {
        CHECK(hipStreamBeginCapture(one, hipStreamCaptureModeRelaxed));
        CHECK(hipStreamDestroy(one));
    } else {
        CHECK(hipStreamBeginCapture(one, hipStreamCaptureModeRelaxed));
        as_expected &= fails(hipStreamEndCapture(two, &graph));
        as_expected &= fails(hipStreamEndCapture(one, nullptr));
    }
    if (!as_expected) {
        fprintf(stderr, "captures: HIP took what was wrong\n");
        return 1;
    }
    say("ready");
    if (!strcmp(what, "unmatched")) {
        while (!told) usleep(10000);
        CHECK(hipStreamEndCapture(one, &graph));
        say("ended");
    }
    for (;;) {
        count_up<<<1, 1, 0, two>>>(word);
        CHECK(hipStreamSynchronize(two));
        usleep(10000);
    }
}

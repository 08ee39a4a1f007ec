// Copies and fills of rows and boxes, between device, pinned and pageable memory, of every kind.
//
//   pitched [ROUNDS]
#include <cstring>
#include <vector>

#include "rounds.h"

constexpr size_t kWidth = 200, kHeight = 90, kDepth = 12;

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 80);
    unsigned char *rows, *pinned;
    size_t pitch = 0;
    CHECK(hipMallocPitch(reinterpret_cast<void**>(&rows), &pitch, kWidth, kHeight));
    CHECK(hipMemset2D(rows, pitch, 0, pitch, kHeight));
    CHECK(hipHostMalloc(&pinned, kWidth * kHeight, 0));
    hipPitchedPtr box;
    CHECK(hipMalloc3D(&box, make_hipExtent(kWidth, kHeight, kDepth)));
    CHECK(hipMemset(box.ptr, 0, box.pitch * kHeight * kDepth));
    unsigned* idle = words_of(1 << 19, 5);
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    std::vector<unsigned char> host(kWidth * kHeight, 1), back(kWidth * kHeight);
    for (unsigned round = 0; round < rounds; ++round) {
        size_t x = mix(round) % 50, y = mix(round + 1) % 30, z = mix(round + 2) % kDepth;
        size_t w = 1 + mix(round + 3) % (kWidth - x), h = 1 + mix(round + 4) % (kHeight - y);
        for (size_t i = 0; i < host.size(); i += 13) host[i] += round;
        memcpy(pinned, host.data(), host.size());
        CHECK(hipMemcpy2D(rows + y * pitch + x, pitch, host.data(), kWidth, w, h,
                          hipMemcpyHostToDevice));
        CHECK(hipMemset2DAsync(rows + y * pitch + x, pitch, round, w / 2, h / 2, stream));
        CHECK(hipMemcpy2DAsync(rows + x, pitch, pinned, kWidth, w / 2, h, hipMemcpyHostToDevice,
                               stream));
        hipMemcpy3DParms parameters = {};
        parameters.srcPtr = make_hipPitchedPtr(rows, pitch, kWidth, kHeight);
        parameters.dstPtr = box;
        parameters.dstPos = make_hipPos(x, y, z);
        parameters.extent = make_hipExtent(w, h, 1);
        parameters.kind = hipMemcpyDeviceToDevice;
        CHECK(hipMemcpy3DAsync(&parameters, stream));
        hipPitchedPtr part = box;
        part.ptr = static_cast<char*>(box.ptr) + ((z * 5) % kDepth) * box.pitch * kHeight;
        CHECK(hipMemset3DAsync(part, round, make_hipExtent(w, h, 1), stream));
        CHECK(hipStreamSynchronize(stream));
        hip_Memcpy2D drawn = {};
        drawn.srcMemoryType = hipMemoryTypeDevice;
        drawn.srcDevice = rows;
        drawn.srcPitch = pitch;
        drawn.dstMemoryType = hipMemoryTypeDevice;
        drawn.dstDevice = reinterpret_cast<unsigned char*>(idle) + 4096 * (mix(round) % 400);
        drawn.dstPitch = 256;
        drawn.WidthInBytes = kWidth;
        drawn.Height = 20;
        CHECK(hipMemcpyParam2D(&drawn));
        CHECK(hipMemcpy2D(back.data(), kWidth, rows, pitch, kWidth, kHeight,
                          hipMemcpyDeviceToHost));
        uint64_t sum = 0;
        for (unsigned char byte : back) sum = sum * 31 + byte;
        say_round(round, sum);
    }
    say_round(rounds, digest(idle, 1 << 19) +
                          digest(static_cast<unsigned*>(box.ptr), box.pitch * kHeight * kDepth / 4));
}

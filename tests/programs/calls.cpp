// Calls every function of HIP that writes device memory with random valid arguments, and says which
// bytes of device memory each call has really changed. Who knows what a call was predicted to write
// can compare: call N lies between the allocation of a marker of N + 1 bytes and its free.
//
//   calls SEED ROUNDS     a line a call: "call N NAME STATUS START END START END ..." (changed bytes)
//
// All memory holds kBefore, and no call writes kBefore: what was written is what differs.
#include <hip/hip_ext.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "check.h"

namespace hip_impl {
void hipLaunchKernelGGLImpl(uintptr_t function, const dim3& blocks, const dim3& threads,
                            uint32_t lds, hipStream_t stream, void** kernarg);
}

constexpr unsigned char kBefore = 0xa5;
constexpr size_t kBytes = 96 << 10;

__device__ unsigned char symbol[kBytes];

// Writes `count` bytes from `at` on. (One element a work-item: what it writes can be known.)
extern "C" __global__ void put(unsigned char* at, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) at[i] = 0x11;
}

static uint64_t state;
static uint64_t random_word() {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state * 0x2545f4914f6cdd1dull;
}
static size_t below(size_t n) { return n ? random_word() % n : 0; }
static bool one_in(size_t n) { return below(n) == 0; }
// A value as a memset takes it, none of whose bytes is kBefore.
static int value() { return int(random_word() & 0x1f1f1f1f); }

// Device memory that calls may write, and where they may take content from.
static unsigned char *arenas[2], *device_source, *pinned, *managed, *pageable;
static hipStream_t streams[3];
static hipStream_t any_stream() {
    size_t at = below(5);
    return at < 3 ? streams[at] : at == 3 ? nullptr : hipStreamPerThread;
}
static unsigned char* any_arena() { return arenas[below(2)]; }

enum Place { kDevice, kPinned, kManaged, kPageable };
static unsigned char* source_in(Place place) {
    unsigned char* const all[] = {device_source, pinned, managed, pageable};
    return all[place];
}
static Place any_place() { return Place(below(4)); }

// The kinds that HIP takes for a copy to device memory from there.
static hipMemcpyKind kind_of(Place place) {
    if (one_in(3)) return hipMemcpyDefault;
    return place == kDevice ? hipMemcpyDeviceToDevice : hipMemcpyHostToDevice;
}

struct Range {
    size_t at, bytes;
};
static Range any_range(size_t most = 20000) {
    size_t bytes = one_in(4) ? 1 + below(64) : 1 + below(most);
    size_t at = below(kBytes - bytes);
    return {one_in(2) ? at : at & ~size_t(63), bytes};
}

// A box inside an arena: pitch and slice height may be 0, which HIP takes as "next to each other".
struct Box {
    size_t x, y, z, width, height, depth, pitch, slice;
};
static Box any_box(bool flat, bool may_be_zero) {
    for (;;) {
        Box box = {};
        box.width = 1 + below(300);
        box.height = 1 + below(9);
        box.depth = flat ? 1 : 1 + below(5);
        box.pitch = one_in(3) ? box.width : box.width + below(200);
        box.slice = one_in(3) ? box.height : box.height + below(4);
        if (may_be_zero && one_in(3)) box.pitch = 0;
        if (may_be_zero && (flat || one_in(3))) box.slice = 0;
        if (one_in(2)) {
            // HIP wants rows inside their pitch only for the part that is copied.
            box.x = below(50), box.y = below(4), box.z = flat ? 0 : below(3);
        }
        size_t pitch = box.pitch ? box.pitch : box.width;
        // The runtime ends the program where aligned rows begin at an odd address.
        if (pitch % 4 == 0) box.x &= ~size_t(3);
        size_t slice = box.pitch && box.slice ? box.pitch * box.slice : pitch * box.height;
        size_t last = (box.z + box.depth - 1) * slice + (box.y + box.height - 1) * pitch + box.x +
                      box.width;
        if (last < kBytes / 2) return box;
    }
}

static hipMemoryType type_of(Place place) {
    if (one_in(3)) return hipMemoryTypeUnified;
    return place == kDevice ? hipMemoryTypeDevice : hipMemoryTypeHost;
}

static hip_Memcpy2D any_2d() {
    Box to = any_box(true, true), from = to;
    Place place = any_place();
    hip_Memcpy2D copy = {};
    copy.srcXInBytes = from.x, copy.srcY = from.y;
    copy.srcMemoryType = type_of(place);
    copy.srcPitch = from.pitch;
    copy.srcDevice = source_in(place);
    if (copy.srcMemoryType == hipMemoryTypeHost || one_in(2)) copy.srcHost = source_in(place);
    copy.dstXInBytes = to.x, copy.dstY = to.y;
    copy.dstPitch = to.pitch;
    copy.dstMemoryType = one_in(2) ? hipMemoryTypeDevice : hipMemoryTypeUnified;
    copy.dstDevice = any_arena();
    // What is not asked for is as it happens to be.
    if (one_in(2)) copy.dstHost = one_in(2) ? any_arena() : pageable;
    if (one_in(4)) copy.dstMemoryType = hipMemoryTypeHost, copy.dstHost = any_arena();
    copy.WidthInBytes = to.width, copy.Height = to.height;
    return copy;
}

static HIP_MEMCPY3D any_driver_3d() {
    hip_Memcpy2D flat = any_2d();
    Box to = any_box(false, true), from = to;
    HIP_MEMCPY3D copy = {};
    copy.srcXInBytes = from.x, copy.srcY = from.y, copy.srcZ = from.z;
    copy.srcMemoryType = flat.srcMemoryType;
    copy.srcHost = flat.srcHost, copy.srcDevice = flat.srcDevice;
    copy.srcPitch = from.pitch, copy.srcHeight = from.slice;
    copy.dstXInBytes = to.x, copy.dstY = to.y, copy.dstZ = to.z;
    copy.dstMemoryType = flat.dstMemoryType;
    copy.dstHost = flat.dstHost, copy.dstDevice = flat.dstDevice;
    copy.dstPitch = to.pitch, copy.dstHeight = to.slice;
    copy.WidthInBytes = to.width, copy.Height = to.height, copy.Depth = to.depth;
    return copy;
}

static hipMemcpy3DParms any_3d() {
    Box to = any_box(false, true), from = to;
    Place place = any_place();
    hipMemcpy3DParms copy = {};
    copy.srcPtr = make_hipPitchedPtr(source_in(place), from.pitch, from.width, from.slice);
    copy.srcPos = make_hipPos(from.x, from.y, from.z);
    copy.dstPtr = make_hipPitchedPtr(any_arena(), to.pitch, to.width, to.slice);
    copy.dstPos = make_hipPos(to.x, to.y, to.z);
    copy.extent = make_hipExtent(to.width, to.height, to.depth);
    copy.kind = kind_of(place);
    return copy;
}

// A pitched memset: HIP looks at neither offset nor zero pitch, but takes any height of a slice.
struct Fill {
    hipPitchedPtr to;
    hipExtent extent;
};
static Fill any_fill() {
    Box box = any_box(false, false);
    size_t at = one_in(2) ? 0 : below(kBytes / 3);
    size_t slice = one_in(2) ? box.slice : below(box.height + 1);
    if (slice == 0) slice = 1;
    return {make_hipPitchedPtr(any_arena() + at, box.pitch, box.width, slice),
            make_hipExtent(box.width, box.height, box.depth)};
}

using Call = std::function<hipError_t()>;
struct Function {
    const char* name;
    // Draws arguments; what it returns is the call.
    std::function<Call()> draw;
};

// A copy of bytes from anywhere to an arena.
template <typename F>
static std::function<Call()> bytes_from_anywhere(F call) {
    return [=]() -> Call {
        Range to = any_range();
        Place place = any_place();
        void* at = any_arena() + to.at;
        void* from = source_in(place) + below(kBytes - to.bytes);
        hipMemcpyKind kind = kind_of(place);
        hipStream_t stream = any_stream();
        return [=] { return call(at, from, to.bytes, kind, stream); };
    };
}

template <typename F>
static std::function<Call()> fill(size_t element, F call) {
    return [=]() -> Call {
        Range to = any_range();
        // HIP 5.2 fills up to the next eight bytes first, also where that is beyond the end, and then
        // everything.
        if (to.bytes < 8) to.at &= ~size_t(7);
        size_t count = to.bytes / element;
        void* at = any_arena() + to.at / element * element;
        int with = value();
        hipStream_t stream = any_stream();
        return [=] { return call(at, with, count, stream); };
    };
}

template <typename F>
static std::function<Call()> rows(F call) {
    return [=]() -> Call {
        Box to = any_box(true, false), from = any_box(true, false);
        from.width = to.width;
        if (from.pitch < from.width) from.pitch = from.width;
        Place place = any_place();
        void* at = any_arena() + (below(kBytes / 3) & ~size_t(3));
        void* source = source_in(place);
        hipMemcpyKind kind = kind_of(place);
        hipStream_t stream = any_stream();
        return [=] { return call(at, to.pitch, source, from.pitch, to.width, to.height, kind, stream); };
    };
}

static hipModule_t module;
static hipFunction_t function;

// A launch of `put`: where, how much, in which stream.
struct Launch {
    unsigned char* at;
    unsigned count;
    hipStream_t stream;
    dim3 grid() const { return dim3((count + 63) / 64); }
    // Half of the functions take the constant for the own stream of a thread for a pointer.
    hipStream_t handle() const { return stream == hipStreamPerThread ? nullptr : stream; }
};
template <typename F>
static std::function<Call()> launch(F call) {
    return [=]() -> Call {
        Range to = any_range(4000);
        Launch launch = {any_arena() + to.at, unsigned(to.bytes), any_stream()};
        return [=]() mutable { return call(launch); };
    };
}

static void* const kStub = reinterpret_cast<void*>(put);

// The two forms of arguments of a module's function.
template <typename F>
static hipError_t with_arguments(Launch& l, F call) {
    void* pointers[] = {&l.at, &l.count};
    struct {
        unsigned char* at;
        unsigned count;
    } buffer = {l.at, l.count};
    size_t size = sizeof(buffer);
    void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &buffer, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     HIP_LAUNCH_PARAM_END};
    return one_in(2) ? call(pointers, nullptr) : call(nullptr, extra);
}

#pragma clang diagnostic ignored "-Wdeprecated-declarations"

static hipError_t in_a_list(Launch& l, hipError_t (*call)(hipLaunchParams*, int, unsigned)) {
    void* pointers[] = {&l.at, &l.count};
    hipLaunchParams list = {kStub, l.grid(), dim3(64), pointers, 0, streams[below(3)]};
    return call(&list, 1, 0);
}

static std::vector<hipGraphExec_t> graphs;
static hipError_t in_a_graph(Launch& l) {
    void* pointers[] = {&l.at, &l.count};
    hipGraph_t graph;
    hipGraphNode_t node;
    hipGraphExec_t exec;
    CHECK(hipGraphCreate(&graph, 0));
    hipKernelNodeParams kernel = {};
    kernel.func = kStub, kernel.gridDim = l.grid(), kernel.blockDim = dim3(64);
    kernel.kernelParams = pointers;
    CHECK(hipGraphAddKernelNode(&node, graph, nullptr, 0, &kernel));
    CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    graphs.push_back(exec);
    return hipGraphLaunch(exec, streams[below(3)]);
}

static std::vector<Function> functions() {
    using D = hipDeviceptr_t;
    std::vector<Function> all = {
        {"hipMemcpy", bytes_from_anywhere([](void* to, void* from, size_t n, hipMemcpyKind kind, hipStream_t) { return hipMemcpy(to, from, n, kind); })},
        {"hipMemcpy_spt", bytes_from_anywhere([](void* to, void* from, size_t n, hipMemcpyKind kind, hipStream_t) { return hipMemcpy_spt(to, from, n, kind); })},
        {"hipMemcpyWithStream", bytes_from_anywhere([](void* to, void* from, size_t n, hipMemcpyKind kind, hipStream_t s) { return hipMemcpyWithStream(to, from, n, kind, s); })},
        {"hipMemcpyAsync", bytes_from_anywhere([](void* to, void* from, size_t n, hipMemcpyKind kind, hipStream_t s) { return hipMemcpyAsync(to, from, n, kind, s); })},
        {"hipMemcpyAsync_spt", bytes_from_anywhere([](void* to, void* from, size_t n, hipMemcpyKind kind, hipStream_t s) { return hipMemcpyAsync_spt(to, from, n, kind, s); })},
        {"hipMemcpyHtoD", bytes_from_anywhere([](void* to, void* from, size_t n, hipMemcpyKind, hipStream_t) { return hipMemcpyHtoD(D(to), from, n); })},
        {"hipMemcpyHtoDAsync", bytes_from_anywhere([](void* to, void* from, size_t n, hipMemcpyKind, hipStream_t s) { return hipMemcpyHtoDAsync(D(to), from, n, s); })},
        {"hipMemcpyDtoH", bytes_from_anywhere([](void* to, void* from, size_t n, hipMemcpyKind, hipStream_t) { return hipMemcpyDtoH(to, D(from), n); })},
        {"hipMemcpyDtoHAsync", bytes_from_anywhere([](void* to, void* from, size_t n, hipMemcpyKind, hipStream_t s) { return hipMemcpyDtoHAsync(to, D(from), n, s); })},
        {"hipMemcpyDtoD", bytes_from_anywhere([](void* to, void* from, size_t n, hipMemcpyKind, hipStream_t) { return hipMemcpyDtoD(D(to), D(from), n); })},
        {"hipMemcpyDtoDAsync", bytes_from_anywhere([](void* to, void* from, size_t n, hipMemcpyKind, hipStream_t s) { return hipMemcpyDtoDAsync(D(to), D(from), n, s); })},
        {"hipMemcpyPeer", bytes_from_anywhere([](void* to, void* from, size_t n, hipMemcpyKind, hipStream_t) { return hipMemcpyPeer(to, 0, from, 0, n); })},
        {"hipMemcpyPeerAsync", bytes_from_anywhere([](void* to, void* from, size_t n, hipMemcpyKind, hipStream_t s) { return hipMemcpyPeerAsync(to, 0, from, 0, n, s); })},
        {"hipMemcpyFromSymbol", bytes_from_anywhere([](void* to, void*, size_t n, hipMemcpyKind, hipStream_t) { return hipMemcpyFromSymbol(to, HIP_SYMBOL(symbol), n, 0, hipMemcpyDeviceToDevice); })},
        {"hipMemcpyFromSymbol_spt", bytes_from_anywhere([](void* to, void*, size_t n, hipMemcpyKind, hipStream_t) { return hipMemcpyFromSymbol_spt(to, HIP_SYMBOL(symbol), n, kBytes - n, hipMemcpyDeviceToDevice); })},
        {"hipMemcpyFromSymbolAsync", bytes_from_anywhere([](void* to, void*, size_t n, hipMemcpyKind, hipStream_t s) { return hipMemcpyFromSymbolAsync(to, HIP_SYMBOL(symbol), n, kBytes - n, hipMemcpyDeviceToDevice, s); })},
        {"hipMemcpyToSymbol", bytes_from_anywhere([](void*, void* from, size_t n, hipMemcpyKind kind, hipStream_t) { return hipMemcpyToSymbol(HIP_SYMBOL(symbol), from, n, 0, kind); })},
        {"hipMemcpyToSymbol_spt", bytes_from_anywhere([](void*, void* from, size_t n, hipMemcpyKind kind, hipStream_t) { return hipMemcpyToSymbol_spt(HIP_SYMBOL(symbol), from, n, 0, kind); })},
        {"hipMemcpyToSymbolAsync", bytes_from_anywhere([](void*, void* from, size_t n, hipMemcpyKind kind, hipStream_t s) { return hipMemcpyToSymbolAsync(HIP_SYMBOL(symbol), from, n, 0, kind, s); })},
        {"hipMemPrefetchAsync", bytes_from_anywhere([](void* to, void*, size_t n, hipMemcpyKind, hipStream_t s) { return hipMemPrefetchAsync(to, n, 0, s); })},
        {"hipMemAdvise", bytes_from_anywhere([](void* to, void*, size_t n, hipMemcpyKind, hipStream_t) { return hipMemAdvise(to, n, hipMemAdviseSetReadMostly, 0); })},

        {"hipMemset", fill(1, [](void* to, int v, size_t n, hipStream_t) { return hipMemset(to, v, n); })},
        {"hipMemset_spt", fill(1, [](void* to, int v, size_t n, hipStream_t) { return hipMemset_spt(to, v, n); })},
        {"hipMemsetAsync", fill(1, [](void* to, int v, size_t n, hipStream_t s) { return hipMemsetAsync(to, v, n, s); })},
        {"hipMemsetD8", fill(1, [](void* to, int v, size_t n, hipStream_t) { return hipMemsetD8(D(to), v, n); })},
        {"hipMemsetD8Async", fill(1, [](void* to, int v, size_t n, hipStream_t s) { return hipMemsetD8Async(D(to), v, n, s); })},
        {"hipMemsetD16", fill(2, [](void* to, int v, size_t n, hipStream_t) { return hipMemsetD16(D(to), v, n); })},
        {"hipMemsetD16Async", fill(2, [](void* to, int v, size_t n, hipStream_t s) { return hipMemsetD16Async(D(to), v, n, s); })},
        {"hipMemsetD32", fill(4, [](void* to, int v, size_t n, hipStream_t) { return hipMemsetD32(D(to), v, n); })},
        {"hipMemsetD32Async", fill(4, [](void* to, int v, size_t n, hipStream_t s) { return hipMemsetD32Async(D(to), v, n, s); })},
        {"hipStreamWriteValue32", fill(4, [](void* to, int v, size_t, hipStream_t) { return hipStreamWriteValue32(streams[below(3)], reinterpret_cast<void*>(uintptr_t(to) & ~3ull), v, 0); })},
        {"hipStreamWriteValue64", fill(8, [](void* to, int v, size_t, hipStream_t) { return hipStreamWriteValue64(streams[below(3)], reinterpret_cast<void*>(uintptr_t(to) & ~7ull), v | uint64_t(v) << 32, 0); })},
    };
    auto add = [&](const char* name, std::function<Call()> draw) { all.push_back({name, draw}); };
    add("hipMemcpy2D", rows([](void* to, size_t tp, void* from, size_t fp, size_t w, size_t h, hipMemcpyKind kind, hipStream_t) { return hipMemcpy2D(to, tp, from, fp, w, h, kind); }));
    add("hipMemcpy2D_spt", rows([](void* to, size_t tp, void* from, size_t fp, size_t w, size_t h, hipMemcpyKind kind, hipStream_t) { return hipMemcpy2D_spt(to, tp, from, fp, w, h, kind); }));
    add("hipMemcpy2DAsync", rows([](void* to, size_t tp, void* from, size_t fp, size_t w, size_t h, hipMemcpyKind kind, hipStream_t s) { return hipMemcpy2DAsync(to, tp, from, fp, w, h, kind, s); }));
    add("hipMemcpyParam2D", []() -> Call { auto c = any_2d(); return [=] { return hipMemcpyParam2D(&c); }; });
    add("hipMemcpyParam2DAsync", []() -> Call { auto c = any_2d(); auto s = any_stream(); return [=] { return hipMemcpyParam2DAsync(&c, s); }; });
    add("hipDrvMemcpy2DUnaligned", []() -> Call { auto c = any_2d(); return [=] { return hipDrvMemcpy2DUnaligned(&c); }; });
    add("hipMemcpy3D", []() -> Call { auto c = any_3d(); return [=] { return hipMemcpy3D(&c); }; });
    add("hipMemcpy3D_spt", []() -> Call { auto c = any_3d(); return [=] { return hipMemcpy3D_spt(&c); }; });
    add("hipMemcpy3DAsync", []() -> Call { auto c = any_3d(); auto s = any_stream(); return [=] { return hipMemcpy3DAsync(&c, s); }; });
    add("hipDrvMemcpy3D", []() -> Call { auto c = any_driver_3d(); return [=] { return hipDrvMemcpy3D(&c); }; });
    add("hipDrvMemcpy3DAsync", []() -> Call { auto c = any_driver_3d(); auto s = any_stream(); return [=] { return hipDrvMemcpy3DAsync(&c, s); }; });
    add("hipMemset2D", []() -> Call { Fill f = any_fill(); int v = value(); return [=] { return hipMemset2D(f.to.ptr, f.to.pitch, v, f.extent.width, f.extent.height); }; });
    add("hipMemset2D_spt", []() -> Call { Fill f = any_fill(); int v = value(); return [=] { return hipMemset2D_spt(f.to.ptr, f.to.pitch, v, f.extent.width, f.extent.height); }; });
    add("hipMemset2DAsync", []() -> Call { Fill f = any_fill(); int v = value(); auto s = any_stream(); return [=] { return hipMemset2DAsync(f.to.ptr, f.to.pitch, v, f.extent.width, f.extent.height, s); }; });
    add("hipMemset3D", []() -> Call { Fill f = any_fill(); int v = value(); return [=] { return hipMemset3D(f.to, v, f.extent); }; });
    add("hipMemset3D_spt", []() -> Call { Fill f = any_fill(); int v = value(); return [=] { return hipMemset3D_spt(f.to, v, f.extent); }; });
    add("hipMemset3DAsync", []() -> Call { Fill f = any_fill(); int v = value(); auto s = any_stream(); return [=] { return hipMemset3DAsync(f.to, v, f.extent, s); }; });

    add("hipLaunchKernel", launch([](Launch& l) { void* a[] = {&l.at, &l.count}; return hipLaunchKernel(kStub, l.grid(), dim3(64), a, 0, l.stream); }));
    add("hipLaunchKernel_spt", launch([](Launch& l) { void* a[] = {&l.at, &l.count}; return hipLaunchKernel_spt(kStub, l.grid(), dim3(64), a, 0, l.stream); }));
    add("hipExtLaunchKernel", launch([](Launch& l) { void* a[] = {&l.at, &l.count}; return hipExtLaunchKernel(kStub, l.grid(), dim3(64), a, 0, l.handle(), nullptr, nullptr, 0); }));
    add("hipLaunchCooperativeKernel", launch([](Launch& l) { void* a[] = {&l.at, &l.count}; return hipLaunchCooperativeKernel(kStub, l.grid(), dim3(64), a, 0, l.stream); }));
    add("hipLaunchCooperativeKernel_spt", launch([](Launch& l) { void* a[] = {&l.at, &l.count}; return hipLaunchCooperativeKernel_spt(kStub, l.grid(), dim3(64), a, 0, l.stream); }));
    add("hipModuleLaunchKernel", launch([](Launch& l) { return with_arguments(l, [&](void** a, void** e) { return hipModuleLaunchKernel(function, l.grid().x, 1, 1, 64, 1, 1, 0, l.handle(), a, e); }); }));
    add("hipExtModuleLaunchKernel", launch([](Launch& l) { return with_arguments(l, [&](void** a, void** e) { return hipExtModuleLaunchKernel(function, l.grid().x * 64, 1, 1, 64, 1, 1, 0, l.handle(), a, e); }); }));
    add("hipHccModuleLaunchKernel", launch([](Launch& l) { return with_arguments(l, [&](void** a, void** e) { return hipHccModuleLaunchKernel(function, l.grid().x * 64, 1, 1, 64, 1, 1, 0, l.handle(), a, e, nullptr, nullptr); }); }));
    add("hipLaunchByPtr", launch([](Launch& l) {
        CHECK(hipConfigureCall(l.grid(), dim3(64), 0, l.handle()));
        CHECK(hipSetupArgument(&l.at, sizeof(l.at), 0));
        CHECK(hipSetupArgument(&l.count, sizeof(l.count), sizeof(l.at)));
        return hipLaunchByPtr(kStub);
    }));
    add("hipLaunchKernelGGLImpl", launch([](Launch& l) {
        struct { unsigned char* at; unsigned count; } buffer = {l.at, l.count};
        size_t size = sizeof(buffer);
        void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &buffer, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
        hip_impl::hipLaunchKernelGGLImpl(uintptr_t(kStub), l.grid(), dim3(64), 0, l.handle(), extra);
        return hipSuccess;
    }));
    add("hipExtLaunchMultiKernelMultiDevice", launch([](Launch& l) { return in_a_list(l, [](hipLaunchParams* list, int n, unsigned flags) { return hipExtLaunchMultiKernelMultiDevice(list, n, flags); }); }));
    add("hipLaunchCooperativeKernelMultiDevice", launch([](Launch& l) { return in_a_list(l, [](hipLaunchParams* list, int n, unsigned flags) { return hipLaunchCooperativeKernelMultiDevice(list, n, flags); }); }));
    add("hipGraphLaunch", launch([](Launch& l) { return in_a_graph(l); }));
    return all;
}

// hipcc's bundle of this program's device code, which begins a page of its file.
static std::string bundle() {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    std::string all{std::istreambuf_iterator<char>(file), {}};
    for (size_t at = 0; at < all.size(); at += 4096) {
        if (!all.compare(at, 24, "__CLANG_OFFLOAD_BUNDLE__")) return all.substr(at);
    }
    fprintf(stderr, "calls: no device code in the program\n");
    exit(1);
}

static std::vector<unsigned char> seen(kBytes);

static void print_changed(const unsigned char* arena) {
    CHECK(hipMemcpy(seen.data(), arena, kBytes, hipMemcpyDeviceToHost));
    for (size_t at = 0; at < kBytes;) {
        if (seen[at] == kBefore) {
            ++at;
            continue;
        }
        size_t end = at;
        while (end < kBytes && seen[end] != kBefore) ++end;
        printf(" %zu %zu", size_t(arena) + at, size_t(arena) + end);
        at = end;
    }
}

int main(int argc, char** argv) {
    state = argc > 1 ? strtoull(argv[1], nullptr, 10) * 0x9e3779b97f4a7c15ull + 1 : 1;
    unsigned long rounds = argc > 2 ? strtoul(argv[2], nullptr, 10) : 3;
    for (auto& arena : arenas) CHECK(hipMalloc(&arena, kBytes));
    CHECK(hipMalloc(&device_source, kBytes));
    CHECK(hipHostMalloc(&pinned, kBytes, 0));
    CHECK(hipMallocManaged(&managed, kBytes));
    pageable = new unsigned char[kBytes];
    CHECK(hipMemset(device_source, 0x22, kBytes));
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(symbol), std::vector<char>(kBytes, 0x33).data(), kBytes, 0, hipMemcpyHostToDevice));
    memset(pinned, 0x44, kBytes), memset(managed, 0x55, kBytes), memset(pageable, 0x66, kBytes);
    CHECK(hipStreamCreate(&streams[0]));
    CHECK(hipStreamCreateWithFlags(&streams[1], hipStreamNonBlocking));
    CHECK(hipStreamCreateWithPriority(&streams[2], hipStreamNonBlocking, 0));
    CHECK(hipModuleLoadData(&module, bundle().data()));
    CHECK(hipModuleGetFunction(&function, module, "put"));
    unsigned long number = 0;
    for (unsigned long round = 0; round < rounds; ++round) {
        for (auto& each : functions()) {
            for (auto arena : arenas) CHECK(hipMemset(arena, kBefore, kBytes));
            CHECK(hipDeviceSynchronize());
            Call call = each.draw();
            void* marker;
            CHECK(hipMalloc(&marker, number + 1));
            hipError_t status = call();
            CHECK(hipDeviceSynchronize());
            CHECK(hipFree(marker));
            (void)hipGetLastError();
            printf("call %lu %s %d", number++, each.name, status);
            for (auto arena : arenas) print_changed(arena);
            printf("\n");
            for (auto exec : graphs) CHECK(hipGraphExecDestroy(exec));
            graphs.clear();
        }
    }
}

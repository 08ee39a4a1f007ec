// Matrix instructions, packed singles, doubles and accumulation registers of gfx90a and gfx942, against the host. Where the
// processor has not one of them the host's own sums stand in, and the program says the same.
//
// matrix [SEED [LOG]]   with a log: sums in accumulation registers, until LOG.rounds is there; what they came to
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "check.h"

typedef float f4 __attribute__((ext_vector_type(4)));
typedef float f16 __attribute__((ext_vector_type(16)));
typedef float f32x32 __attribute__((ext_vector_type(32)));
typedef float f2 __attribute__((ext_vector_type(2)));
typedef double d4 __attribute__((ext_vector_type(4)));
typedef int i4 __attribute__((ext_vector_type(4)));
typedef int i16 __attribute__((ext_vector_type(16)));
typedef int i32x32 __attribute__((ext_vector_type(32)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef short s2 __attribute__((ext_vector_type(2)));
typedef short s4 __attribute__((ext_vector_type(4)));

// Small whole numbers: sums of their products are exact in any order.
template <class In> In element(const int* values);
template <> float element<float>(const int* v) { return v[0]; }
template <> f2 element<f2>(const int* v) { return f2{(float)v[0], (float)v[1]}; }
template <> double element<double>(const int* v) { return v[0]; }
template <> h4 element<h4>(const int* v) {
    return h4{(_Float16)v[0], (_Float16)v[1], (_Float16)v[2], (_Float16)v[3]};
}
static short brain(int value) {
    float single = value;
    uint32_t bits;
    memcpy(&bits, &single, 4);
    return bits >> 16;
}
template <> s2 element<s2>(const int* v) { return s2{brain(v[0]), brain(v[1])}; }
template <> s4 element<s4>(const int* v) {
    return s4{brain(v[0]), brain(v[1]), brain(v[2]), brain(v[3])};
}
template <> int element<int>(const int* v) {
    return (v[0] & 255) | (v[1] & 255) << 8 | (v[2] & 255) << 16 | (v[3] & 255) << 24;
}
template <> long element<long>(const int* v) {
    return (unsigned)element<int>(v) | (unsigned long)(unsigned)element<int>(v + 4) << 32;
}

// What a lane has of A and B, and of C and D.
template <class T, class S, int N, int R>
struct Elements {
    typedef T In;
    typedef S Sum;
    enum { EACH = N, ROWS = R };
    static In in(const int* values) { return element<In>(values); }
};
typedef Elements<float, float, 1, 4> F32;
typedef Elements<f2, float, 2, 4> XF32;
typedef Elements<h4, float, 4, 4> F16;
typedef Elements<s2, float, 2, 4> B2;
typedef Elements<s4, float, 4, 4> B4;
typedef Elements<int, int, 4, 4> I8;
typedef Elements<long, int, 8, 4> I8S;
typedef Elements<double, double, 1, 1> F64;
// fp8 and bf8: so many bits of mantissa, and a bias.
template <int MANTISSA, int BIAS>
struct F8 : Elements<long, float, 8, 4> {
    static long in(const int* values) {
        unsigned long all = 0;
        for (int n = 0; n < 8; ++n) {
            int magnitude = abs(values[n]), exponent = 0;
            if (magnitude == 0) continue;
            while (magnitude >> (exponent + 1)) ++exponent;
            int fraction = (magnitude << MANTISSA >> exponent) & ((1 << MANTISSA) - 1);
            unsigned long bits = (exponent + BIAS) << MANTISSA | fraction | (values[n] < 0) << 7;
            all |= bits << (8 * n);
        }
        return all;
    }
};
typedef F8<3, 8> FP8;
typedef F8<2, 16> BF8;

// Which processors have it.
enum { MI200 = 1, MI300 = 2, BOTH = MI200 | MI300 };
#if defined(__gfx90a__) || defined(__gfx942__)
#define HAS_MATRICES
#endif

#define SHAPE(name, of, type, m, k, blocks, vector, product)                                   \
    struct name : type {                                                                       \
        enum { OF = of, M = m, K = k, BLOCKS = blocks };                                       \
        typedef vector Sums;                                                                   \
        static __device__ Sums run(In a, In b, Sums c) { return product; }                     \
    };
#define MFMA(name) __builtin_amdgcn_mfma_##name(a, b, c, 0, 0, 0)
#ifdef HAS_MATRICES
#define MATRIX(name, ...) SHAPE(name, BOTH, __VA_ARGS__, MFMA(name))
#else
#define MATRIX(name, ...) SHAPE(name, BOTH, __VA_ARGS__, c)
#endif
#if defined(__gfx90a__)
#define OF_MI200(name, ...) SHAPE(name, MI200, __VA_ARGS__, MFMA(name))
#else
#define OF_MI200(name, ...) SHAPE(name, MI200, __VA_ARGS__, c)
#endif
#if defined(__gfx942__)
#define OF_MI300(name, ...) SHAPE(name, MI300, __VA_ARGS__, MFMA(name))
#else
#define OF_MI300(name, ...) SHAPE(name, MI300, __VA_ARGS__, c)
#endif

MATRIX(f32_32x32x1f32, F32, 32, 1, 2, f32x32)
MATRIX(f32_16x16x1f32, F32, 16, 1, 4, f16)
MATRIX(f32_4x4x1f32, F32, 4, 1, 16, f4)
MATRIX(f32_32x32x2f32, F32, 32, 2, 1, f16)
MATRIX(f32_16x16x4f32, F32, 16, 4, 1, f4)
MATRIX(f32_32x32x4f16, F16, 32, 4, 2, f32x32)
MATRIX(f32_16x16x4f16, F16, 16, 4, 4, f16)
MATRIX(f32_4x4x4f16, F16, 4, 4, 16, f4)
MATRIX(f32_32x32x8f16, F16, 32, 8, 1, f16)
MATRIX(f32_16x16x16f16, F16, 16, 16, 1, f4)
OF_MI200(f32_32x32x2bf16, B2, 32, 2, 2, f32x32)
OF_MI200(f32_16x16x8bf16, B2, 16, 8, 1, f4)
MATRIX(f32_32x32x8bf16_1k, B4, 32, 8, 1, f16)
MATRIX(f32_16x16x16bf16_1k, B4, 16, 16, 1, f4)
MATRIX(f32_4x4x4bf16_1k, B4, 4, 4, 16, f4)
MATRIX(i32_32x32x4i8, I8, 32, 4, 2, i32x32)
OF_MI200(i32_32x32x8i8, I8, 32, 8, 1, i16)
OF_MI200(i32_16x16x16i8, I8, 16, 16, 1, i4)
MATRIX(f64_16x16x4f64, F64, 16, 4, 1, d4)
MATRIX(f64_4x4x4f64, F64, 4, 4, 4, double)
OF_MI300(f32_32x32x4_xf32, XF32, 32, 4, 1, f16)
OF_MI300(f32_16x16x8_xf32, XF32, 16, 8, 1, f4)
OF_MI300(i32_32x32x16_i8, I8S, 32, 16, 1, i16)
OF_MI300(i32_16x16x32_i8, I8S, 16, 32, 1, i4)
OF_MI300(f32_32x32x16_fp8_fp8, FP8, 32, 16, 1, f16)
OF_MI300(f32_16x16x32_fp8_fp8, FP8, 16, 32, 1, f4)
OF_MI300(f32_32x32x16_bf8_bf8, BF8, 32, 16, 1, f16)
OF_MI300(f32_16x16x32_bf8_bf8, BF8, 16, 32, 1, f4)

template <class T>
__global__ void multiply(const typename T::In* a, const typename T::In* b, typename T::Sums* c) {
    int lane = threadIdx.x;
    // Twice, so that a sum is an addend, too.
    c[lane] = T::run(a[lane], b[lane], T::run(b[lane], a[lane], c[lane]));
}

// What it is, of those that have matrices.
static int processor;

// Element (row, k) of a block in lane and place: columns of all blocks follow one another.
template <class T>
static void multiply_add(const int* a, const int* b, double* c) {
    for (int block = 0; block < T::BLOCKS; ++block)
        for (int i = 0; i < T::M; ++i)
            for (int j = 0; j < T::M; ++j)
                for (int k = 0; k < T::K; ++k) {
                    int lane = block * T::M + k / T::EACH * T::M * T::BLOCKS;
                    c[(block * T::M + i) * T::M + j] +=
                        (double)a[(lane + i) * T::EACH + k % T::EACH] *
                        b[(lane + j) * T::EACH + k % T::EACH];
                }
}

template <class T>
static void test(const char* name) {
    std::vector<int> a(64 * T::EACH), b(64 * T::EACH);
    for (int& value : a) value = rand() % 13 - 6;
    for (int& value : b) value = rand() % 13 - 6;
    std::vector<typename T::In> in_a(64), in_b(64);
    for (int lane = 0; lane < 64; ++lane) {
        in_a[lane] = T::in(&a[lane * T::EACH]);
        in_b[lane] = T::in(&b[lane * T::EACH]);
    }
    const int sums = T::BLOCKS * T::M * T::M / 64;
    std::vector<typename T::Sum> c(64 * sums);
    std::vector<double> expected(64 * sums);
    // Where row i and column j of a block are: in segments of ROWS rows.
    auto place = [&](int block, int i, int j) {
        int beside = std::max(1, 64 * T::ROWS / (T::M * T::M)), segments = 64 / T::M;
        int segment = i / T::ROWS;
        int reg = block * (T::M * T::M / 64) + segment / segments * T::ROWS + i % T::ROWS;
        int lane = block % beside * T::M + segment % segments * beside * T::M + j;
        return lane * sums + reg;
    };
    for (int block = 0; block < T::BLOCKS; ++block)
        for (int i = 0; i < T::M; ++i)
            for (int j = 0; j < T::M; ++j) {
                int value = rand() % 1000;
                expected[(block * T::M + i) * T::M + j] = value;
                c[place(block, i, j)] = value;
            }
    if (processor & T::OF) {
        multiply_add<T>(b.data(), a.data(), expected.data());
        multiply_add<T>(a.data(), b.data(), expected.data());
    }
    typename T::In *da, *db;
    typename T::Sums* dc;
    CHECK(hipMalloc(&da, 64 * sizeof *da));
    CHECK(hipMalloc(&db, 64 * sizeof *db));
    CHECK(hipMalloc(&dc, 64 * sizeof *dc));
    CHECK(hipMemcpy(da, in_a.data(), 64 * sizeof *da, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(db, in_b.data(), 64 * sizeof *db, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(dc, c.data(), 64 * sizeof *dc, hipMemcpyHostToDevice));
    multiply<T><<<1, 64>>>(da, db, dc);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(c.data(), dc, 64 * sizeof *dc, hipMemcpyDeviceToHost));
    int wrong = 0;
    for (int block = 0; block < T::BLOCKS; ++block)
        for (int i = 0; i < T::M; ++i)
            for (int j = 0; j < T::M; ++j)
                wrong += c[place(block, i, j)] != expected[(block * T::M + i) * T::M + j];
    printf("%s wrong %d\n", name, wrong);
    CHECK(hipFree(da));
    CHECK(hipFree(db));
    CHECK(hipFree(dc));
}

// Singles in pairs, with halves exchanged and signs.
__global__ void packed(const f2* a, const f2* b, f2* c, float scale) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    f2 x = a[i], y = b[i];
    f2 z = x * y + f2{y.y, y.x} * scale;
    z = __builtin_elementwise_max(z, f2{-y.x, y.y}) - x;
    c[i] = z + f2{z.y, -z.x};
}

// More accumulators than there are vector registers: they are put aside in accumulation registers.
__global__ __launch_bounds__(256) void pressure(const float* in, float* out, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sums[300];
#pragma unroll
    for (int k = 0; k < 300; ++k) sums[k] = in[(i + k) & 1023];
    for (int round = 0; round < rounds; ++round)
#pragma unroll
        for (int k = 0; k < 300; ++k) sums[k] = sums[(k * 7 + 3) % 300] + (float)round;
    float all = 0;
#pragma unroll
    for (int k = 0; k < 300; ++k) all += sums[k] * (k + 1);
    out[i] = all;
}

#ifdef HAS_MATRICES
static __device__ void add(double* sum, double value) { unsafeAtomicAdd(sum, value); }
static __device__ void raise(double* most, double value) {
    typedef __attribute__((address_space(1))) double* global;
    __builtin_amdgcn_global_atomic_fmax_f64((global)most, value);
}
#else
static __device__ void add(double* sum, double value) { atomicAdd(sum, value); }
static __device__ void raise(double* most, double value) { atomicMax(most, value); }
#endif

// Double precision: sums by atomics in memory and in LDS.
__global__ void doubles(const double* in, double* sum, double* most) {
    __shared__ double part;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) part = 0;
    __syncthreads();
    add(&part, in[i]);
    __syncthreads();
    if (threadIdx.x == 0) add(sum, part);
    raise(most, in[i]);
}

__global__ void dimensions(int* out) {
    int at = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    out[at] = threadIdx.x | threadIdx.y << 8 | threadIdx.z << 16;
}

// Asks for one of its ids alone, which the compiler then does not mask.
__global__ void columns(int* counts) {
    if (threadIdx.x < 16) atomicAdd(counts + threadIdx.x, 1);
}

static void test_vectors() {
    const int n = 1024;
    std::vector<f2> a(n), b(n), c(n);
    for (int i = 0; i < n; ++i) a[i] = f2{(float)(rand() % 99), (float)(rand() % 99)}, b[i] = f2{(float)(rand() % 99), (float)(rand() % 99)};
    f2 *da, *db, *dc;
    CHECK(hipMalloc(&da, n * sizeof *da));
    CHECK(hipMalloc(&db, n * sizeof *db));
    CHECK(hipMalloc(&dc, n * sizeof *dc));
    CHECK(hipMemcpy(da, a.data(), n * sizeof *da, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(db, b.data(), n * sizeof *db, hipMemcpyHostToDevice));
    packed<<<4, 256>>>(da, db, dc, 3);
    CHECK(hipMemcpy(c.data(), dc, n * sizeof *dc, hipMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < n; ++i) {
        f2 x = a[i], y = b[i];
        f2 z = x * y + f2{y.y, y.x} * 3.0f;
        z = f2{fmaxf(z.x, -y.x), fmaxf(z.y, y.y)} - x;
        f2 w = z + f2{z.y, -z.x};
        wrong += w.x != c[i].x || w.y != c[i].y;
    }
    printf("packed wrong %d\n", wrong);

    float* out;
    CHECK(hipMalloc(&out, n * sizeof(float)));
    pressure<<<4, 256>>>((float*)da, out, 5);
    std::vector<float> sums(n);
    CHECK(hipMemcpy(sums.data(), out, n * sizeof(float), hipMemcpyDeviceToHost));
    wrong = 0;
    for (int i = 0; i < n; ++i) {
        float values[300], all = 0;
        const float* in = (const float*)a.data();
        for (int k = 0; k < 300; ++k) values[k] = in[(i + k) & 1023];
        for (int round = 0; round < 5; ++round)
            for (int k = 0; k < 300; ++k) values[k] = values[(k * 7 + 3) % 300] + (float)round;
        for (int k = 0; k < 300; ++k) all += values[k] * (k + 1);
        wrong += all != sums[i];
    }
    printf("pressure wrong %d\n", wrong);

    std::vector<double> d(n);
    double right = 0, greatest = 0, got[2] = {0, 0};
    for (double& value : d) value = rand() % 1000 + 0.5, right += value, greatest = std::max(greatest, value);
    double *dd, *results;
    CHECK(hipMalloc(&dd, n * sizeof(double)));
    CHECK(hipMalloc(&results, sizeof got));
    CHECK(hipMemcpy(dd, d.data(), n * sizeof(double), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(results, got, sizeof got, hipMemcpyHostToDevice));
    doubles<<<4, 256>>>(dd, results, results + 1);
    CHECK(hipMemcpy(got, results, sizeof got, hipMemcpyDeviceToHost));
    printf("doubles wrong %d\n", (got[0] != right) + (got[1] != greatest));

    dimensions<<<1, dim3(5, 7, 3)>>>((int*)out);
    std::vector<int> ids(105);
    CHECK(hipMemcpy(ids.data(), out, 105 * sizeof(int), hipMemcpyDeviceToHost));
    wrong = 0;
    for (int i = 0; i < 105; ++i) wrong += ids[i] != (i % 5 | i / 5 % 7 << 8 | i / 35 << 16);
    CHECK(hipMemset(out, 0, 16 * sizeof(int)));
    columns<<<1, dim3(16, 8, 2)>>>((int*)out);
    CHECK(hipMemcpy(ids.data(), out, 16 * sizeof(int), hipMemcpyDeviceToHost));
    for (int i = 0; i < 16; ++i) wrong += ids[i] != 16;
    printf("dimensions wrong %d\n", wrong);
}

enum { GROUPS = 3 };

// Adds a product to accumulation registers again and again, until it is told to stop.
__global__ void chain(const int* a, const int* b, int* out, unsigned* rounds, volatile unsigned* flags) {
#ifdef HAS_MATRICES
    int lane = threadIdx.x;
    i16 sums = {};
#if defined(__gfx942__)
    // Of the eight bytes of a lane four are zero.
    unsigned long in_a = (unsigned)a[lane], in_b = (unsigned)b[lane];
#define PRODUCT "v_mfma_i32_32x32x16_i8 %0, %1, %2, %0\n"
#else
    int in_a = a[lane], in_b = b[lane];
#define PRODUCT "v_mfma_i32_32x32x8i8 %0, %1, %2, %0\n"
#endif
    unsigned done = 0;
    while (!flags[0]) {
        asm volatile(
            "s_nop 15\n"
            PRODUCT
            "s_nop 15\n"
            "s_nop 15"
            : "+a"(sums)
            : "v"(in_a), "v"(in_b));
        ++done;
        flags[1 + blockIdx.x] = 1;
        __builtin_amdgcn_s_sleep(1);
    }
    for (int r = 0; r < 16; ++r) out[(blockIdx.x * 64 + lane) * 16 + r] = sums[r];
    if (lane == 0) rounds[blockIdx.x] = done;
#endif
}

static int held(const char* log) {
    std::vector<int> a(64 * 4), b(64 * 4), in_a(64), in_b(64);
    for (int& value : a) value = rand() % 13 - 6;
    for (int& value : b) value = rand() % 13 - 6;
    for (int lane = 0; lane < 64; ++lane)
        in_a[lane] = element<int>(&a[lane * 4]), in_b[lane] = element<int>(&b[lane * 4]);
    int *da, *db, *out;
    unsigned *rounds, *flags;
    CHECK(hipMalloc(&da, 64 * sizeof *da));
    CHECK(hipMalloc(&db, 64 * sizeof *db));
    CHECK(hipMalloc(&out, GROUPS * 64 * 16 * sizeof *out));
    CHECK(hipMalloc(&rounds, GROUPS * sizeof *rounds));
    CHECK(hipHostMalloc(&flags, (1 + GROUPS) * sizeof *flags, 0));
    memset(flags, 0, (1 + GROUPS) * sizeof *flags);
    CHECK(hipMemcpy(da, in_a.data(), 64 * sizeof *da, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(db, in_b.data(), 64 * sizeof *db, hipMemcpyHostToDevice));
    chain<<<GROUPS, 64>>>(da, db, out, rounds, flags);
    CHECK(hipGetLastError());
    for (int group = 0; group < GROUPS; ++group)
        while (!((volatile unsigned*)flags)[1 + group]) usleep(1000);
    FILE* file = fopen(log, "w");
    fprintf(file, "begun\n"), fflush(file);
    std::string enough = std::string(log) + ".rounds";
    while (access(enough.c_str(), F_OK) != 0) usleep(1000);
    *(volatile unsigned*)flags = 1;
    std::vector<int> sums(GROUPS * 64 * 16);
    std::vector<unsigned> done(GROUPS);
    CHECK(hipMemcpy(sums.data(), out, sums.size() * sizeof(int), hipMemcpyDeviceToHost));
    CHECK(hipMemcpy(done.data(), rounds, GROUPS * sizeof(unsigned), hipMemcpyDeviceToHost));
    std::vector<double> product(32 * 32);
    multiply_add<i32_32x32x8i8>(a.data(), b.data(), product.data());
    int wrong = 0;
    for (int group = 0; group < GROUPS; ++group)
        for (int lane = 0; lane < 64; ++lane)
            for (int r = 0; r < 16; ++r) {
                int row = r / 4 * 8 + lane / 32 * 4 + r % 4;
                unsigned right = (unsigned)(int)product[row * 32 + lane % 32] * done[group];
                wrong += (unsigned)sums[(group * 64 + lane) * 16 + r] != right || done[group] == 0;
            }
    fprintf(file, "chain wrong %d\n", wrong), fclose(file);
    return wrong != 0;
}

int main(int argc, char** argv) {
    srand(argc > 1 ? atoi(argv[1]) : 1);
    if (argc > 2) return held(argv[2]);
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    auto is = [&](const char* name) { return !strncmp(properties.gcnArchName, name, strlen(name)); };
    processor = is("gfx90a") ? MI200 : is("gfx942") ? MI300 : 0;
#define TEST(name) test<name>(#name)
    TEST(f32_32x32x1f32);
    TEST(f32_16x16x1f32);
    TEST(f32_4x4x1f32);
    TEST(f32_32x32x2f32);
    TEST(f32_16x16x4f32);
    TEST(f32_32x32x4f16);
    TEST(f32_16x16x4f16);
    TEST(f32_4x4x4f16);
    TEST(f32_32x32x8f16);
    TEST(f32_16x16x16f16);
    TEST(f32_32x32x2bf16);
    TEST(f32_16x16x8bf16);
    TEST(f32_32x32x8bf16_1k);
    TEST(f32_16x16x16bf16_1k);
    TEST(f32_4x4x4bf16_1k);
    TEST(i32_32x32x4i8);
    TEST(i32_32x32x8i8);
    TEST(i32_16x16x16i8);
    TEST(f64_16x16x4f64);
    TEST(f64_4x4x4f64);
    TEST(f32_32x32x4_xf32);
    TEST(f32_16x16x8_xf32);
    TEST(i32_32x32x16_i8);
    TEST(i32_16x16x32_i8);
    TEST(f32_32x32x16_fp8_fp8);
    TEST(f32_16x16x32_fp8_fp8);
    TEST(f32_32x32x16_bf8_bf8);
    TEST(f32_16x16x32_bf8_bf8);
    test_vectors();
}

// Every generator of rocRAND with every distribution it has. Prints a sum over the bits of each
// output, so that two runs can be compared.
//
//   random [COUNT]
#include <rocrand/rocrand.h>

#include <cstdint>
#include <vector>

#include "check.h"

static unsigned* output;
static size_t count = 4096;

static void print(const char* generator, const char* distribution, rocrand_status status) {
    // What a generator does not have is no error of ours.
    if (status == ROCRAND_STATUS_TYPE_ERROR) return;
    if (status != ROCRAND_STATUS_SUCCESS) {
        fprintf(stderr, "%s %s: rocRAND status %d\n", generator, distribution, (int)status);
        exit(1);
    }
    std::vector<unsigned> words(2 * count);
    CHECK(hipMemcpy(words.data(), output, 2 * count * sizeof(unsigned), hipMemcpyDeviceToHost));
    uint64_t sum = 0;
    for (unsigned word : words) sum = sum * 31 + word;
    printf("%s %s %016llx\n", generator, distribution, (unsigned long long)sum);
}

int main(int argc, char** argv) {
    if (argc > 1) count = strtoul(argv[1], nullptr, 10);
    CHECK(hipMalloc(&output, 2 * count * sizeof(unsigned)));
    struct {
        const char* name;
        rocrand_rng_type type;
    } generators[] = {
        {"xorwow", ROCRAND_RNG_PSEUDO_XORWOW},       {"mrg32k3a", ROCRAND_RNG_PSEUDO_MRG32K3A},
        {"philox", ROCRAND_RNG_PSEUDO_PHILOX4_32_10}, {"mtgp32", ROCRAND_RNG_PSEUDO_MTGP32},
        {"sobol32", ROCRAND_RNG_QUASI_SOBOL32},
    };
    for (auto& g : generators) {
        rocrand_generator generator;
        if (rocrand_create_generator(&generator, g.type) != ROCRAND_STATUS_SUCCESS) return 1;
        CHECK(hipMemset(output, 0, 2 * count * sizeof(unsigned)));
        auto floats = reinterpret_cast<float*>(output);
        auto doubles = reinterpret_cast<double*>(output);
        print(g.name, "uint", rocrand_generate(generator, output, count));
        print(g.name, "uniform", rocrand_generate_uniform(generator, floats, count));
        print(g.name, "uniform_double", rocrand_generate_uniform_double(generator, doubles, count));
        print(g.name, "normal", rocrand_generate_normal(generator, floats, count, 1.0f, 2.0f));
        print(g.name, "normal_double",
              rocrand_generate_normal_double(generator, doubles, count, 1.0, 2.0));
        print(g.name, "log_normal",
              rocrand_generate_log_normal(generator, floats, count, 0.0f, 0.5f));
        print(g.name, "log_normal_double",
              rocrand_generate_log_normal_double(generator, doubles, count, 0.0, 0.5));
        print(g.name, "poisson", rocrand_generate_poisson(generator, output, count, 7.0));
        rocrand_destroy_generator(generator);
    }
    CHECK(hipFree(output));
    return 0;
}

// Uses the HSA runtime below HIP, beside HIP, then works on.
//   beside quiet | queue | copy | fill | table
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "check.h"

__global__ void count_up(unsigned* word) { *word += 1; }

static void* library;
template <typename F>
static F find(const char* name) {
    // What a linked program would call.
    void* f = dlsym(RTLD_DEFAULT, name);
    if (!f) f = dlsym(library, name);
    if (!f) {
        fprintf(stderr, "beside: %s\n", dlerror());
        exit(1);
    }
    return reinterpret_cast<F>(f);
}
static void must(int status) {
    if (status) {
        fprintf(stderr, "beside: HSA says %x\n", status);
        exit(1);
    }
}

struct Agent {
    uint64_t handle;
};
static int find_gpu(Agent agent, void* found) {
    constexpr int kDevice = 17;
    uint32_t kind = 0;
    must(find<int (*)(Agent, int, void*)>("hsa_agent_get_info")(agent, kDevice, &kind));
    if (kind == 1) *static_cast<Agent*>(found) = agent;
    return 0;
}

int main(int argc, char** argv) {
    const char* what = argc > 1 ? argv[1] : "quiet";
    library = dlopen("libhsa-runtime64.so.1", RTLD_NOW);
    unsigned* word;
    CHECK(hipMalloc(&word, 4096));
    CHECK(hipMemset(word, 0, 4096));
    must(find<int (*)()>("hsa_init")());
    Agent gpu = {};
    must(find<int (*)(int (*)(Agent, void*), void*)>("hsa_iterate_agents")(find_gpu, &gpu));
    if (!strcmp(what, "queue")) {
        void* queue = nullptr;
        must(find<int (*)(Agent, uint32_t, uint32_t, void*, void*, uint32_t, uint32_t, void**)>(
            "hsa_queue_create")(gpu, 64, 0, nullptr, nullptr, ~0u, ~0u, &queue));
    } else if (!strcmp(what, "copy")) {
        must(find<int (*)(void*, const void*, size_t)>("hsa_memory_copy")(word + 64, word, 4));
    } else if (!strcmp(what, "fill")) {
        must(find<int (*)(void*, uint32_t, size_t)>("hsa_amd_memory_fill")(word + 64, 7, 4));
    } else if (!strcmp(what, "table")) {
        uint64_t table[32];
        // Of the images extension; whether there is one does not matter.
        (void)find<int (*)(uint16_t, uint16_t, size_t, void*)>(
            "hsa_system_get_major_extension_table")(1, 1, sizeof(table), table);
    }
    say("ready");
    for (;;) {
        count_up<<<1, 1>>>(word);
        CHECK(hipDeviceSynchronize());
        usleep(20000);
    }
}

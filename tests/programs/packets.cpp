// Packets and kernels that are wrong on every GPU, submitted with HSA alone: what the runtime says of each.
//
//   packets CASE...     one queue for each; says the queue's error, or the memory fault
#include <hip/hiprtc.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

// Nothing is mapped there.
#define NOWHERE 0x10000ul

static const char* const source = R"(
#define KERNEL extern "C" __global__ void
KERNEL good(unsigned* word) { *word += 1; }
KERNEL bad_instruction(unsigned*) { asm volatile(".long 0xbfff0000"); }
KERNEL image(unsigned*) { asm volatile("image_sample v[0:3], v[0:1], s[0:7], s[8:11] dmask:0xf" ::: "v0", "v1", "v2", "v3"); }
KERNEL unknown(unsigned*) { asm volatile("v_mqsad_u32_u8 v[4:7], v[0:1], v2, v[8:11]" ::: "v4", "v5", "v6", "v7"); }
KERNEL trap(unsigned*) { __builtin_trap(); }
KERNEL debug_trap(unsigned* word) { __builtin_debugtrap(); *word += 1; }
KERNEL reserved_trap(unsigned*) { asm volatile("s_trap 7"); }
KERNEL beyond(unsigned*) { *(volatile unsigned*)0x123456789abcdef0ul = 1; }
KERNEL reads(unsigned* word) { *word = *(volatile unsigned*)0x10000ul; }
KERNEL writes(unsigned*) { *(volatile unsigned*)0x10000ul = 1; }
KERNEL __launch_bounds__(256) wide(unsigned*) { asm volatile("v_mov_b32 v255, 0" ::: "v255"); }
)";

#define CHECK(call)                                                                   \
    do {                                                                              \
        auto status_ = (call);                                                        \
        if (status_ != 0) {                                                           \
            fprintf(stderr, "%s:%d: %s: %#x\n", __FILE__, __LINE__, #call, (int)status_); \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

struct Kernel {
    uint64_t object;
    uint32_t group, scratch;
};

static hsa_agent_t gpu, cpu;
static hsa_amd_memory_pool_t pool;
static hsa_executable_t executable;
static std::atomic<int> error, faulted;

static hsa_status_t find_agent(hsa_agent_t agent, void*) {
    hsa_device_type_t type;
    CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    if (type == HSA_DEVICE_TYPE_GPU && !gpu.handle) gpu = agent;
    if (type == HSA_DEVICE_TYPE_CPU && !cpu.handle) cpu = agent;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t find_pool(hsa_amd_memory_pool_t found, void*) {
    uint32_t flags = 0;
    CHECK(hsa_amd_memory_pool_get_info(found, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
    if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) pool = found;
    return HSA_STATUS_SUCCESS;
}

static void load() {
    const char* options[] = {"--gpu-architecture=gfx906"};
    hiprtcProgram program;
    size_t size = 0;
    CHECK(hiprtcCreateProgram(&program, source, "packets.hip", 0, nullptr, nullptr));
    CHECK(hiprtcCompileProgram(program, 1, options));
    CHECK(hiprtcGetCodeSize(program, &size));
    static std::vector<char> code(size);
    CHECK(hiprtcGetCode(program, code.data()));
    hsa_code_object_reader_t reader;
    CHECK(hsa_code_object_reader_create_from_memory(code.data(), size, &reader));
    CHECK(hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
    CHECK(hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr));
    CHECK(hsa_executable_freeze(executable, nullptr));
}

static Kernel kernel(const char* name) {
    hsa_executable_symbol_t symbol;
    Kernel kernel;
    CHECK(hsa_executable_get_symbol_by_name(executable, (std::string(name) + ".kd").c_str(), &gpu, &symbol));
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel.object));
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &kernel.group));
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &kernel.scratch));
    return kernel;
}

static void on_error(hsa_status_t status, hsa_queue_t*, void*) { error = status; }

static hsa_status_t on_event(const hsa_amd_event_t* event, void*) {
    if (event->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT) {
        printf("memory fault at %#lx reason %#x\n", (unsigned long)event->memory_fault.virtual_address,
               event->memory_fault.fault_reason_mask);
        faulted = 1;
    }
    return HSA_STATUS_SUCCESS;
}

static const char* name_of(int status) {
    switch (status) {
#define NAME(name) case name: return #name;
        NAME(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS)
        NAME(HSA_STATUS_ERROR_INVALID_ALLOCATION)
        NAME(HSA_STATUS_ERROR_INVALID_CODE_OBJECT)
        NAME(HSA_STATUS_ERROR_INVALID_PACKET_FORMAT)
        NAME(HSA_STATUS_ERROR_INVALID_ARGUMENT)
        NAME(HSA_STATUS_ERROR_OUT_OF_RESOURCES)
        NAME(HSA_STATUS_ERROR_INVALID_ISA)
        NAME(HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION)
        NAME(HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION)
        NAME(HSA_STATUS_ERROR_EXCEPTION)
        default: return "another error";
    }
}

// A barrier-value packet, as hsa_ext_amd.h has it.
static void barrier_value(hsa_kernel_dispatch_packet_t& packet, hsa_signal_t signal, uint32_t condition) {
    hsa_amd_barrier_value_packet_t barrier = {};
    barrier.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
    barrier.signal = signal;
    barrier.mask = -1;
    barrier.cond = condition;
    barrier.completion_signal = packet.completion_signal;
    memcpy(&packet, &barrier, sizeof packet);
}

static void run(const std::string& name) {
    error = 0;
    hsa_queue_t* queue;
    CHECK(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, on_error, nullptr, UINT32_MAX, UINT32_MAX, &queue));
    hsa_signal_t done;
    CHECK(hsa_signal_create(1, 0, nullptr, &done));
    struct Memory {
        void* argument;
        unsigned word;
    }* memory;
    CHECK(hsa_amd_memory_pool_allocate(pool, 4096, 0, (void**)&memory));
    CHECK(hsa_amd_agents_allow_access(1, &gpu, nullptr, memory));
    memory->argument = &memory->word;
    memory->word = 6;

    static const char* const own[] = {"bad_instruction", "image", "unknown", "trap", "debug_trap", "reserved_trap",
                                      "beyond", "reads", "writes", "wide"};
    const char* entry = "good";
    for (const char* kernel : own)
        if (name == kernel) entry = kernel;
    Kernel kernel = ::kernel(entry);
    hsa_kernel_dispatch_packet_t packet = {};
    packet.setup = 1;
    packet.workgroup_size_x = 1, packet.workgroup_size_y = 1, packet.workgroup_size_z = 1;
    packet.grid_size_x = 1, packet.grid_size_y = 1, packet.grid_size_z = 1;
    packet.group_segment_size = kernel.group;
    packet.private_segment_size = kernel.scratch;
    packet.kernel_object = kernel.object;
    packet.kernarg_address = memory;
    packet.completion_signal = done;
    uint16_t type = HSA_PACKET_TYPE_KERNEL_DISPATCH;
    const hsa_signal_t nowhere = {NOWHERE};
    if (name == "dimensions") packet.setup = 4;
    if (name == "grid") packet.grid_size_x = 0;
    if (name == "empty_group") packet.workgroup_size_x = 0;
    if (name == "lds") packet.group_segment_size = UINT32_MAX;
    if (name == "no_kernel") packet.kernel_object = 0;
    if (name == "type") type = 0xff;
    if (name == "agent") type = HSA_PACKET_TYPE_AGENT_DISPATCH;
    if (name == "vendor") type = HSA_PACKET_TYPE_VENDOR_SPECIFIC, packet.setup = 77;
    if (name == "condition") type = HSA_PACKET_TYPE_VENDOR_SPECIFIC, barrier_value(packet, done, 9);
    if (name == "group_x") packet.workgroup_size_x = UINT16_MAX;
    if (name == "group_y") packet.workgroup_size_y = UINT16_MAX;
    if (name == "group_z") packet.workgroup_size_z = UINT16_MAX;
    if (name == "scratch") packet.private_segment_size = 1 << 20;
    if (name == "wide") packet.workgroup_size_x = packet.grid_size_x = 1024;
    if (name == "kernel") packet.kernel_object = NOWHERE;
    if (name == "arguments") packet.kernarg_address = (void*)NOWHERE;
    if (name == "signal") packet.completion_signal = nowhere;
    if (name == "dependency") {
        type = HSA_PACKET_TYPE_BARRIER_AND;
        hsa_barrier_and_packet_t barrier = {};
        barrier.dep_signal[0] = nowhere;
        memcpy(&packet, &barrier, sizeof packet);
    }

    uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
    auto* place = (hsa_kernel_dispatch_packet_t*)queue->base_address + index % queue->size;
    memcpy((char*)place + 4, (char*)&packet + 4, sizeof packet - 4);
    uint32_t head = type | 1 << 8 | HSA_FENCE_SCOPE_SYSTEM << 9 | HSA_FENCE_SCOPE_SYSTEM << 11 |
                    (uint32_t)packet.setup << 16;
    __atomic_store_n((uint32_t*)place, head, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal, index);

    hsa_signal_value_t left = 1;
    for (int tries = 0; tries < 3000 && left && !error && !faulted; ++tries)
        left = hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, 1000000, HSA_WAIT_STATE_BLOCKED);
    const char* what = error ? name_of(error) : !left ? "done" : faulted ? "a memory fault" : "nothing";
    printf("%s: %s, completion %ld, word %u\n", name.c_str(), what, (long)hsa_signal_load_scacquire(done), memory->word);
    fflush(stdout);
    CHECK(hsa_queue_destroy(queue));
    CHECK(hsa_signal_destroy(done));
    CHECK(hsa_amd_memory_pool_free(memory));
}

int main(int argc, char** argv) {
    CHECK(hsa_init());
    CHECK(hsa_iterate_agents(find_agent, nullptr));
    CHECK(hsa_amd_agent_iterate_memory_pools(cpu, find_pool, nullptr));
    CHECK(hsa_amd_register_system_event_handler(on_event, nullptr));
    load();
    for (int at = 1; at < argc; ++at) run(argv[at]);
    CHECK(hsa_executable_destroy(executable));
    CHECK(hsa_shut_down());
    return 0;
}

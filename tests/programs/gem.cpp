// A program that holds buffer objects of its own at render nodes, of which HIP knows nothing:
//   gem own [GPUS]      of each GPU VRAM and system memory, with gaps between their handles; one was never mapped
//   gem import [driver] memory of the compute driver, imported at a file of its own, or at that of the driver
//   gem two             memory of one process that another one has imported
//   gem foreign         the same, of two GPUs: memory of the first, imported at the second
//   gem userptr         its own memory, for the GPU
//   gem lend, gem borrow
//                       memory of the first GPU, and another program that has imported it at the second
// It says "ready", waits for a file "go", and then compares: contents, handles, mappings of the CPU and of the GPU.
// Ends with 0 if all is what it was.
#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"

__global__ void count(unsigned* words) { words[threadIdx.x] += 1; }

static const char* part = "gem";

static void want(bool holds, const char* what) {
    if (holds) return;
    fprintf(stderr, "%s: not so: %s (%s)\n", part, what, strerror(errno));
    exit(1);
}
#define WANT(holds) want(holds, #holds)

// Requests of drm.h and amdgpu_drm.h.
static const unsigned long CREATE = 0xc0206440, MMAP = 0xc0086441, VA = 0x40286448, OP = 0xc0186450,
                           LIST = 0xc0106459, CLOSE = 0x40086409, TO_FD = 0xc00c642d, FROM_FD = 0xc00c642e,
                           USERPTR = 0xc0186451, CTX = 0xc0106442, CS = 0xc0186444;
static const uint64_t GTT = 2, VRAM = 4, CPU_ACCESS = 1;

static int node(int gpu) {
    std::string path = "/dev/dri/renderD" + std::to_string(128 + gpu);
    int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    WANT(file >= 0);
    return file;
}

static uint32_t create(int file, uint64_t bytes, uint64_t domain) {
    uint64_t words[4] = {bytes, 4096, domain, CPU_ACCESS};
    WANT(!ioctl(file, CREATE, words));
    return uint32_t(words[0]);
}

static uint64_t offset_of(int file, uint32_t handle) {
    uint64_t word = handle;
    WANT(!ioctl(file, MMAP, &word));
    return word;
}

static unsigned* map(int file, uint64_t offset, uint64_t bytes) {
    void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, off_t(offset));
    return mapping == MAP_FAILED ? nullptr : static_cast<unsigned*>(mapping);
}

static void map_for_gpu(int file, uint32_t handle, uint64_t address, uint64_t bytes) {
    struct {
        uint32_t handle, pad, operation, flags;
        uint64_t address, offset, bytes;
    } va = {handle, 0, 1, 1 << 1 | 1 << 2, address, 0, bytes};
    WANT(!ioctl(file, VA, &va));
}

// Addresses that a buffer object is mapped at; none if it never was.
static std::vector<uint64_t> mapped_at(int file, uint32_t handle) {
    uint64_t entries[8][4] = {};
    struct {
        uint32_t handle, op;
        uint64_t value;
        uint32_t count, pad;
    } op = {handle, 2, uint64_t(entries), 8, 0};
    if (ioctl(file, OP, &op)) {
        WANT(errno == ENOENT);
        return {};
    }
    std::vector<uint64_t> addresses;
    for (uint32_t i = 0; i < op.count; ++i) addresses.push_back(entries[i][0]);
    return addresses;
}

static std::vector<uint32_t> handles_of(int file) {
    uint32_t entries[32][10] = {};
    struct {
        uint64_t entries;
        uint32_t count, pad;
    } list = {uint64_t(entries), 32, 0};
    WANT(!ioctl(file, LIST, &list));
    std::vector<uint32_t> handles;
    for (uint32_t i = 0; i < list.count; ++i) handles.push_back(entries[i][0]);
    return handles;
}

static int exported(int file, uint32_t handle) {
    uint32_t words[3] = {handle, O_CLOEXEC, 0};
    WANT(!ioctl(file, TO_FD, words));
    return int(words[2]);
}

static uint32_t imported(int file, int dmabuf) {
    uint32_t words[3] = {0, 0, uint32_t(dmabuf)};
    WANT(!ioctl(file, FROM_FD, words));
    return words[0];
}

static void fill(unsigned* words, uint64_t bytes, unsigned seed) {
    for (uint64_t i = 0; i < bytes / 4; ++i) words[i] = unsigned(i) * 2654435761u + seed;
}

static bool is_filled(const unsigned* words, uint64_t bytes, unsigned seed) {
    for (uint64_t i = 0; i < bytes / 4; ++i)
        if (words[i] != unsigned(i) * 2654435761u + seed) return false;
    return true;
}

// A copy by the DMA engine, in the address space of the file.
static void copy(int file, uint64_t commands, unsigned* packet, uint64_t from, uint64_t to, uint64_t bytes) {
    uint32_t context[4] = {1};
    WANT(!ioctl(file, CTX, context));
    const unsigned words[8] = {1,  unsigned(bytes - 1),  0, unsigned(from), unsigned(from >> 32),
                               unsigned(to), unsigned(to >> 32), 0};
    memcpy(packet, words, sizeof words);
    struct {
        uint32_t pad, flags;
        uint64_t start;
        uint32_t bytes, type, instance, ring;
    } ib = {0, 0, commands, sizeof words, 2, 0, 0};
    struct {
        uint32_t id, words;
        uint64_t data;
    } chunk = {1, sizeof ib / 4, uint64_t(&ib)};
    uint64_t chunks[1] = {uint64_t(&chunk)};
    struct {
        uint32_t context, list, count, flags;
        uint64_t chunks;
    } submit = {context[0], 0, 1, 0, uint64_t(chunks)};
    WANT(!ioctl(file, CS, &submit));
}

static unsigned* started_hip(int gpu) {
    unsigned* words;
    CHECK(hipSetDevice(gpu));
    CHECK(hipMalloc(&words, 64 * sizeof(unsigned)));
    CHECK(hipMemset(words, 0, 64 * sizeof(unsigned)));
    return words;
}

static void wait_for_go(unsigned* words, bool says) {
    count<<<1, 64>>>(words);
    CHECK(hipDeviceSynchronize());
    if (says) say("ready");
    while (access("go", F_OK)) usleep(1000);
    count<<<1, 64>>>(words);
    CHECK(hipDeviceSynchronize());
}

struct Own {
    static const uint64_t VRAM_BYTES = 3 << 20, GTT_BYTES = 192 << 10, QUIET_BYTES = 64 << 10;
    int file;
    unsigned seed;
    uint64_t base;
    uint32_t vram, gtt, quiet;
    unsigned *in_vram, *in_gtt;

    explicit Own(int gpu) : file(node(gpu)), seed(77 * gpu + 5), base((16ull + gpu) << 32) {
        uint32_t gone[3];
        for (uint32_t& handle : gone) handle = create(file, 4096, GTT);
        vram = create(file, VRAM_BYTES, VRAM);
        uint32_t more = create(file, 4096, GTT);
        gtt = create(file, GTT_BYTES, GTT);
        quiet = create(file, QUIET_BYTES, GTT);
        for (uint32_t handle : {gone[0], gone[1], gone[2], more}) {
            uint32_t words[2] = {handle, 0};
            WANT(!ioctl(file, CLOSE, words));
        }
        WANT(vram == 4 && gtt == 6 && quiet == 7);
        in_vram = map(file, offset_of(file, vram), VRAM_BYTES);
        // A part of it, from the middle on.
        in_gtt = map(file, offset_of(file, gtt) + GTT_BYTES / 2, GTT_BYTES / 2);
        WANT(in_vram && in_gtt);
        fill(in_vram, VRAM_BYTES, seed);
        fill(in_gtt, GTT_BYTES / 2, seed + 1);
        unsigned* words = map(file, offset_of(file, quiet), QUIET_BYTES);
        fill(words, QUIET_BYTES, seed + 2);
        WANT(!munmap(words, QUIET_BYTES));
        map_for_gpu(file, vram, base, VRAM_BYTES);
        map_for_gpu(file, gtt, base + (1 << 30), GTT_BYTES);
        map_for_gpu(file, gtt, base + (2 << 28), GTT_BYTES);
    }

    void compare() const {
        WANT(is_filled(in_vram, VRAM_BYTES, seed));
        WANT(is_filled(in_gtt, GTT_BYTES / 2, seed + 1));
        WANT((handles_of(file) == std::vector<uint32_t>{vram, gtt, quiet}));
        WANT(mapped_at(file, vram) == std::vector<uint64_t>{base});
        WANT(mapped_at(file, gtt).size() == 2);
        WANT(mapped_at(file, quiet).empty());
        unsigned* words = map(file, offset_of(file, quiet), QUIET_BYTES);
        WANT(words && is_filled(words, QUIET_BYTES, seed + 2));
        WANT(create(file, 4096, GTT) == 1);
        // The GPU finds them where they were, by both addresses.
        const uint64_t gtt_at = base + (1 << 30), also_at = base + (2 << 28), half = GTT_BYTES / 2;
        copy(file, also_at, map(file, offset_of(file, gtt), 4096), base, gtt_at + half, half);
        WANT(is_filled(in_gtt, half, seed));
    }
};

static void own(int gpus) {
    std::vector<Own> all;
    for (int gpu = 0; gpu < gpus; ++gpu) all.emplace_back(gpu);
    wait_for_go(started_hip(0), true);
    for (const Own& one : all) one.compare();
}

static std::vector<int> open_files(const char* path) {
    std::vector<int> files;
    DIR* folder = opendir("/proc/self/fd");
    while (dirent* entry = readdir(folder)) {
        char name[4096] = {};
        if (readlinkat(dirfd(folder), entry->d_name, name, sizeof name - 1) > 0 && !strcmp(name, path))
            files.push_back(atoi(entry->d_name));
    }
    closedir(folder);
    return files;
}

// By requests of kfd_ioctl.h at the file that the runtime has open.
static void import(bool at_drivers) {
    const uint64_t bytes = 1 << 20, address = 1ull << 40;
    unsigned* words = started_hip(0);
    int kfd = open_files("/dev/kfd").at(0);
    unsigned gpu_id = 0;
    for (int at = 0; at < 16 && !gpu_id; ++at) {
        std::string path = "/sys/class/kfd/kfd/topology/nodes/" + std::to_string(at) + "/gpu_id";
        if (FILE* file = fopen(path.c_str(), "r")) {
            if (fscanf(file, "%u", &gpu_id) != 1) gpu_id = 0;
            fclose(file);
        }
    }
    struct {
        uint64_t address, bytes, handle, offset;
        uint32_t gpu_id, flags;
    } memory = {address, bytes, 0, 0, gpu_id, 1u | 1u << 29 | 1u << 30 | 1u << 31};
    WANT(!ioctl(kfd, 0xc0284b16, &memory));
    struct {
        uint64_t handle, gpus;
        uint32_t count, done;
    } place = {memory.handle, uint64_t(&gpu_id), 1, 0};
    WANT(!ioctl(kfd, 0xc0184b18, &place));
    unsigned* by_driver = nullptr;
    int drivers = -1;
    for (int file : open_files("/dev/dri/renderD128"))
        if (!by_driver) by_driver = map(drivers = file, memory.offset, bytes);
    WANT(by_driver);
    struct {
        uint64_t handle;
        uint32_t flags, fd;
    } dmabuf = {memory.handle, O_CLOEXEC, 0};
    WANT(!ioctl(kfd, 0xc0104b24, &dmabuf));
    int file = at_drivers ? drivers : node(0);
    // Nobody but who has made it, or has a handle, may map it.
    WANT(at_drivers || !map(file, memory.offset, bytes));
    uint32_t before = create(file, 4096, GTT);
    uint32_t handle = imported(file, int(dmabuf.fd));
    WANT(before == 1 && handle == 2 && !close(int(dmabuf.fd)));
    unsigned* by_handle = map(file, offset_of(file, handle), bytes);
    WANT(by_handle);
    map_for_gpu(file, handle, 3ull << 32, bytes);
    fill(by_driver, bytes, 9);
    wait_for_go(words, true);
    WANT(is_filled(by_handle, bytes, 9));
    by_handle[17] = 4711;
    WANT(by_driver[17] == 4711);
    WANT((handles_of(file) == std::vector<uint32_t>{1, 2}));
    std::vector<uint64_t> places = mapped_at(file, handle);
    WANT(places.size() == (at_drivers ? 2 : 1) && places.back() == 3ull << 32);
    WANT(!at_drivers || places[0] == address);
}

static void pass(int socket, int fd) {
    char byte = 0;
    iovec bytes = {&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
    msghdr message = {};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    WANT(sendmsg(socket, &message, 0) == 1);
}

static int passed(int socket) {
    char byte;
    iovec bytes = {&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message = {};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    WANT(recvmsg(socket, &message, 0) == 1);
    int fd;
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    return fd;
}

// Each fills a half, and sees what the other has written, before and after: at the end stands a word of each.
static void two(int other_gpu) {
    const uint64_t half = 256 << 10, bytes = 2 * half + 4096;
    int ends[2];
    WANT(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    pid_t child = fork();
    bool makes = child != 0;
    part = makes ? "gem (makes)" : "gem (imports)";
    int file = node(makes ? 0 : other_gpu), dmabuf;
    uint32_t handle;
    if (makes) {
        create(file, 4096, VRAM);
        handle = create(file, bytes, VRAM);
        dmabuf = exported(file, handle);
        pass(ends[0], dmabuf);
    } else {
        dmabuf = passed(ends[1]);
        handle = imported(file, dmabuf);
    }
    WANT(handle == (makes ? 2 : 1) && !close(dmabuf));
    map_for_gpu(file, handle, 5ull << 32, bytes);
    unsigned* mine = nullptr;
    if (makes || other_gpu == 0) {
        mine = map(file, offset_of(file, handle), bytes);
        WANT(mine);
        fill(mine + (makes ? 0 : half / 4), half, makes ? 1 : 2);
    }
    unsigned* words = started_hip(0);
    char byte = 0;
    WANT(makes ? read(ends[0], &byte, 1) == 1 : write(ends[1], &byte, 1) == 1);
    WANT(!close(ends[0]) && !close(ends[1]));
    wait_for_go(words, makes);
    WANT(handles_of(file).size() == (makes ? 2 : 1) && handles_of(file).back() == handle);
    WANT(mapped_at(file, handle) == std::vector<uint64_t>{5ull << 32});
    if (mine) {
        WANT(is_filled(mine, half, 1));
        if (other_gpu == 0) WANT(is_filled(mine + half / 4, half, 2));
        // And it is one memory again.
        volatile unsigned* told = mine + half / 2 + (makes ? 0 : 1);
        volatile unsigned* hears = mine + half / 2 + (makes ? 1 : 0);
        *told = 4712;
        for (int i = 0; other_gpu == 0 && *hears != 4712; ++i) {
            WANT(i < 30000);
            usleep(1000);
        }
    }
    if (!makes) exit(0);
    int status;
    WANT(wait(&status) == child && status == 0);
}

static void lend(bool lends) {
    sockaddr_un address = {AF_UNIX, "lent"};
    int end = socket(AF_UNIX, SOCK_STREAM, 0), file = node(lends ? 0 : 1);
    if (lends) {
        int dmabuf = exported(file, create(file, 65536, VRAM));
        WANT(!bind(end, reinterpret_cast<sockaddr*>(&address), sizeof address) && !listen(end, 1));
        say("lends");
        int other = accept(end, nullptr, nullptr);
        pass(other, dmabuf);
        WANT(!close(other) && !close(dmabuf));
    } else {
        WANT(!connect(end, reinterpret_cast<sockaddr*>(&address), sizeof address));
        int dmabuf = passed(end);
        WANT(imported(file, dmabuf) == 1 && !close(dmabuf));
    }
    WANT(!close(end));
    wait_for_go(started_hip(0), true);
}

static void userptr() {
    int file = node(0);
    void* memory = mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct {
        uint64_t address, bytes;
        uint32_t flags, handle;
    } user = {uint64_t(memory), 65536, 1 << 1 | 1 << 2 | 1 << 3, 0};
    WANT(!ioctl(file, USERPTR, &user));
    wait_for_go(started_hip(0), true);
}

int main(int argc, char** argv) {
    std::string kind = argc > 1 ? argv[1] : "";
    if (kind == "own") own(argc > 2 ? atoi(argv[2]) : 1);
    else if (kind == "import") import(argc > 2);
    else if (kind == "two") two(0);
    else if (kind == "foreign") two(1);
    else if (kind == "lend" || kind == "borrow") lend(kind == "lend");
    else if (kind == "userptr") userptr();
    else return 2;
    say("kept");
}

// Does what no other thread may come between, while its kernels are launched for the first time, with a cache of its own
// that is empty at the first start and has them at the second.
//
//   undisturbed numbers       a file that it opens has the lowest number that is free, always
//   undisturbed environment   its variables are moved, and where they were is unmapped
//   undisturbed filter        it may not make, rename or remove a name (seccomp): who does is killed
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <vector>

#include "check.h"

constexpr int kKernels = 200;
constexpr int kVariables = 10000;

template <int N>
__global__ void step(unsigned* words) {
    words[threadIdx.x] = words[threadIdx.x] * 1664525u + N;
}

using Step = void (*)(unsigned*);

template <int N>
struct Steps {
    static void list(Step* steps) {
        steps[N - 1] = step<N>;
        Steps<N - 1>::list(steps);
    }
};

template <>
struct Steps<0> {
    static void list(Step*) {}
};

static int lowest() {
    int number = open("/dev/null", O_RDONLY);
    close(number);
    return number;
}

// Moves the environment elsewhere, as the C library does when variables are added, and gives back where it was.
static void move_environment() {
    static char** before = nullptr;
    constexpr size_t kBytes = (kVariables + 1) * sizeof(char*);
    void* place = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) exit(1);
    char** moved = static_cast<char**>(place);
    int count = 0;
    while (count < kVariables && environ[count]) {
        moved[count] = environ[count];
        ++count;
    }
    static char more[] = "MORE=1";
    while (count < kVariables) moved[count++] = more;
    moved[count] = nullptr;
    environ = moved;
    if (before) munmap(before, kBytes);
    before = moved;
}

static void filter() {
    const unsigned calls[] = {SYS_mkdirat, SYS_renameat2, SYS_unlinkat};
    std::vector<sock_filter> program = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
    for (unsigned call : calls) {
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
        program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    sock_fprog all = {static_cast<unsigned short>(program.size()), program.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &all)) {
        perror("seccomp");
        exit(1);
    }
}

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    if (argc == 2) {
        char folder[] = "/tmp/undisturbed-XXXXXX";
        if (!mkdtemp(folder)) return 1;
        setenv("HOME", folder, 1);
        // Looked for first, among all variables.
        unsetenv("XDG_CACHE_HOME");
        // Once to fill it, and once to read.
        const std::string again = std::string(argv[0]) + " " + what + " again";
        int codes[2];
        for (int& code : codes) code = system(again.c_str());
        const int removed = system((std::string("rm -r ") + folder).c_str());
        printf("%s: %d %d\n", what.c_str(), codes[0], codes[1]);
        return codes[0] || codes[1] || removed;
    }
    Step steps[kKernels];
    Steps<kKernels>::list(steps);
    unsigned* words;
    CHECK(hipMalloc(&words, 256));
    CHECK(hipMemset(words, 0, 256));
    if (what == "filter") filter();
    // HIP opens what it needs for a first launch.
    steps[0]<<<1, 64>>>(words);
    CHECK(hipDeviceSynchronize());
    const int expected = lowest();
    int others = 0;
    for (int i = 1; i < kKernels; ++i) {
        steps[i]<<<1, 64>>>(words);
        if (what == "numbers") {
            for (int j = 0; j < 1000; ++j) others += lowest() != expected;
        }
        if (what == "environment") {
            for (int j = 0; j < 100; ++j) move_environment();
        }
    }
    CHECK(hipDeviceSynchronize());
    if (others) printf("another number %d times\n", others);
    return others != 0;
}

// Loaded into CRIU before everything else: ends or stops it, or the program, at a chosen point of its work.
//
//   LETHAL=POINT,WHEN,NUMBER,SIGNAL      pause_devices,after,1,KILL
//
// POINT is a hook of the plugin amdgpu_plugin, a checkpoint request to the driver, submit (work for the DMA
// engine), or any call of
// ptrace, wait4 or openat, of detach (ptrace with PTRACE_DETACH), and of clone3 in a restore, or the first word of an image's name (pages, core, tcp ...)
// when that is opened; WHEN is before or after the
// NUMBERth of them; SIGNAL is KILL or STOP, or COMMAND, which kills the command that has started CRIU, or BOTH,
// which kills that and then CRIU, or PROGRAM, which stops the program that is dumped, or RESUMED, which lets it
// go on at the next point of that name, or SELF, which kills whoever is there, or UNTIL, which waits there until
// the file LETHAL_UNTIL exists. In a restore KILL and BOTH end CRIU itself, wherever the point is reached.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <linux/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static const char* const kHooks[] = {
    [3] = "restore_file",        [7] = "handle_device_vma", [8] = "update_vma_map",
    [9] = "resume_devices_late", [10] = "pause_devices",    [11] = "checkpoint_devices",
    [2] = "dump_file",
};
#define HOOKS 12
static const char* const kOperations[] = {"process_info", "checkpoint", "unpause", "restore", "resume"};

static struct {
    char point[32], when[16], signal[8], until[512];
    int number;
    pid_t program, command, criu;
} plan;

// The plan is for one life: it is forgotten by what CRIU runs, and by a process that is restored.
__attribute__((constructor)) static void read_plan(void) {
    const char* text = getenv("LETHAL");
    if (!text) return;
    if (sscanf(text, "%31[^,],%15[^,],%d,%7s", plan.point, plan.when, &plan.number, plan.signal) != 4) {
        fprintf(stderr, "lethal: %s is no plan\n", text);
        _exit(99);
    }
    plan.command = getppid();
    plan.criu = getpid();
    const char* until = getenv("LETHAL_UNTIL");
    if (until) strncpy(plan.until, until, sizeof plan.until - 1);
    // criu dump ... -t PID
    char words[4096];
    FILE* file = fopen("/proc/self/cmdline", "r");
    size_t length = file ? fread(words, 1, sizeof words - 1, file) : 0;
    words[length] = 0;
    for (char* word = words; word < words + length; word += strlen(word) + 1)
        if (!strcmp(word, "-t")) plan.program = atoi(word + 3);
    if (file) fclose(file);
}

static void reach(const char* point, const char* when) {
    static int count, stopped;
    if (strcmp(point, plan.point)) return;
    int resumed = !strcmp(plan.signal, "RESUMED");
    if (stopped && resumed) {
        stopped = 0;
        if (kill(plan.program, SIGCONT)) _exit(97);
        usleep(20000);
    }
    if (strcmp(when, plan.when) || __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) != plan.number) return;
    if (!strcmp(plan.signal, "UNTIL")) {
        while (access(plan.until, F_OK)) usleep(10000);
        return;
    }
    if (!resumed && strcmp(plan.signal, "PROGRAM")) {
        int both = !strcmp(plan.signal, "BOTH");
        int command = both || !strcmp(plan.signal, "COMMAND");
        // What was let go does something, and who sees the command die has time for what it does.
        if (command && !strcmp(point, "detach")) usleep(300000);
        if (command) kill(plan.command, SIGKILL);
        if (command && !both && !strcmp(point, "detach")) usleep(300000);
        if (both || !strcmp(plan.signal, "KILL")) kill(plan.criu, SIGKILL);
        if (!strcmp(plan.signal, "STOP")) kill(getpid(), SIGSTOP);
        if (!strcmp(plan.signal, "SELF")) kill(getpid(), SIGKILL);
        return;
    }
    if (plan.program <= 0 || kill(plan.program, SIGSTOP)) _exit(98);
    // It arrives, if it can.
    usleep(20000);
    stopped = 1;
}

typedef long Hook(long, long, long, long, long);
static Hook* hooks[HOOKS];
static int (*init)(int);
static void (*end)(int, int);

static long around(int id, long a, long b, long c, long d, long e) {
    reach(kHooks[id], "before");
    long result = hooks[id](a, b, c, d, e);
    reach(kHooks[id], "after");
    return result;
}

#define HOOK(id) \
    static long hook_##id(long a, long b, long c, long d, long e) { return around(id, a, b, c, d, e); }
HOOK(2) HOOK(3) HOOK(7) HOOK(8) HOOK(9) HOOK(10) HOOK(11)

static int around_init(int stage) {
    reach("init", "before");
    int result = init(stage);
    reach("init", "after");
    return result;
}

static void around_exit(int stage, int result) {
    reach("exit", "before");
    end(stage, result);
    reach("exit", "after");
}

struct descriptor {
    const char* name;
    int (*init)(int);
    void (*exit)(int, int);
    unsigned version, max_hooks;
    Hook* hooks[HOOKS];
};

static void* look_up(void* handle, const char* name) {
    static void* (*next)(void*, const char*);
    if (!next) next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (!next) next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    return next(handle, name);
}

// CRIU finds a plugin's descriptor with this.
void* dlsym(void* handle, const char* name) {
    struct descriptor* found = look_up(handle, name);
    if (!found || strcmp(name, "CR_PLUGIN_DESC") || strcmp(found->name, "amdgpu_plugin")) return found;
    static struct descriptor copy;
    static Hook* const kWrappers[HOOKS] = {
        [2] = hook_2, [3] = hook_3, [7] = hook_7, [8] = hook_8, [9] = hook_9, [10] = hook_10, [11] = hook_11,
    };
    copy = *found;
    copy.max_hooks = HOOKS;
    init = found->init;
    end = found->exit;
    copy.init = around_init;
    copy.exit = around_exit;
    for (int id = 0; id < HOOKS; ++id) {
        hooks[id] = found->hooks[id];
        if (hooks[id] && kWrappers[id]) copy.hooks[id] = kWrappers[id];
    }
    return &copy;
}

int ioctl(int fd, unsigned long request, ...) {
    static int (*next)(int, unsigned long, void*);
    if (!next) next = look_up(RTLD_NEXT, "ioctl");
    va_list list;
    va_start(list, request);
    void* argument = va_arg(list, void*);
    va_end(list);
    const char* point = "submit";
    if (request != 0xc0186444ul) {
        if (request != 0xc0384b22ul) return next(fd, request, argument);
        unsigned operation;
        memcpy(&operation, (char*)argument + 48, sizeof operation);
        point = operation < 5 ? kOperations[operation] : "";
    }
    reach(point, "before");
    int result = next(fd, request, argument);
    reach(point, "after");
    return result;
}

long ptrace(int request, ...) {
    static long (*next)(int, pid_t, void*, void*);
    if (!next) next = look_up(RTLD_NEXT, "ptrace");
    va_list list;
    va_start(list, request);
    pid_t pid = va_arg(list, pid_t);
    void* address = va_arg(list, void*);
    void* data = va_arg(list, void*);
    va_end(list);
    const char* point = request == PTRACE_DETACH ? "detach" : "ptrace";
    reach(point, "before");
    long result = next(request, pid, address, data);
    reach(point, "after");
    return result;
}

pid_t wait4(pid_t pid, int* status, int options, struct rusage* usage) {
    static pid_t (*next)(pid_t, int*, int, struct rusage*);
    if (!next) next = look_up(RTLD_NEXT, "wait4");
    reach("wait4", "before");
    pid_t found = next(pid, status, options, usage);
    reach("wait4", "after");
    return found;
}

static int open_at(const char* name, int folder, const char* path, int flags, unsigned mode) {
    int (*next)(int, const char*, int, unsigned) = look_up(RTLD_NEXT, name);
    char image[32] = "";
    if (strstr(path, ".img")) sscanf(path, "%31[a-z]", image);
    reach("openat", "before");
    if (*image) reach(image, "before");
    int fd = next(folder, path, flags, mode);
    reach("openat", "after");
    if (*image) reach(image, "after");
    return fd;
}

#define OPEN_AT(name)                                              \
    int name(int folder, const char* path, int flags, ...) {       \
        va_list list;                                              \
        va_start(list, flags);                                     \
        unsigned mode = flags & O_CREAT ? va_arg(list, unsigned) : 0; \
        va_end(list);                                              \
        return open_at(#name, folder, path, flags, mode);          \
    }
OPEN_AT(openat)
OPEN_AT(openat64)

long syscall(long number, ...) {
    static long (*next)(long, long, long, long, long, long, long);
    if (!next) next = look_up(RTLD_NEXT, "syscall");
    long given[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; ++i) given[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_clone3) reach("clone3", "before");
    long result = next(number, given[0], given[1], given[2], given[3], given[4], given[5]);
    if (number == SYS_clone3 && result > 0) reach("clone3", "after");
    return result;
}

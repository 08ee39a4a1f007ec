// Makes calls, each of them an argument, and says how each has ended; at the end it copies the journal to `journal`.
//
//   files 'open PATH FLAGS' 'fopen PATH MODE' 'unlink PATH' ...
//
// `to PATH FLAGS` and `in FOLDER` are what the next child begins with, `never` takes them back.
// `user N` becomes another user, `cancel` asks the thread that makes the calls to end, `crowd` gives it a large environment,
// `stack N` makes all that follow on a stack of so many bytes, `chdir PATH` goes elsewhere with that thread alone, `bytes N`
// and `descriptors N` are limits of files.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static int flags(const char* letters) {
    static const struct {
        char letter;
        int flag;
    } all[] = {{'r', O_RDONLY},   {'w', O_WRONLY},    {'+', O_RDWR},   {'c', O_CREAT},   {'x', O_EXCL},
               {'t', O_TRUNC},    {'T', O_TMPFILE},   {'P', O_PATH},   {'n', O_NONBLOCK}};
    int found = 0;
    for (; *letters; letters++)
        for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
            if (all[i].letter == *letters) found |= all[i].flag;
    return found;
}

static int closed(int file) {
    return file < 0 ? file : close(file);
}

// As long as it says, with no zero behind it.
static int bound(const char* path) {
    struct sockaddr_un address;
    memset(&address, 'x', sizeof address);
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, path, strlen(path));
    int file = socket(AF_UNIX, SOCK_STREAM, 0);
    return bind(file, (void*)&address, offsetof(struct sockaddr_un, sun_path) + strlen(path)) | close(file);
}

static posix_spawn_file_actions_t* actions;

static posix_spawn_file_actions_t* all_actions(void) {
    static posix_spawn_file_actions_t all;
    if (!actions) posix_spawn_file_actions_init(&all);
    return actions = &all;
}

// With what `to` and `in` have asked for, once.
static int spawned(__typeof__(posix_spawn)* spawn, const char* program, const char* folder) {
    pid_t child;
    if (*folder) posix_spawn_file_actions_addchdir_np(all_actions(), folder);
    errno = spawn(&child, program, actions, NULL, (char*[]){(char*)program, NULL}, environ);
    actions = NULL;
    return errno ? -1 : waitpid(child, NULL, 0) != child;
}

static int limited(int what, const char* most) {
    struct rlimit limit;
    getrlimit(what, &limit);
    limit.rlim_cur = atoi(most);
    return setrlimit(what, &limit);
}

static int crowd(void) {
    static char* variables[2001];
    for (int i = 0; i < 2000; i++) variables[i] = "A=b";
    variables[0] = "PATH=/nowhere:/usr/bin:/bin";
    environ = variables;
    return 0;
}

static int other_user;
static size_t stack_bytes;

static int call(const char* name, const char* one, const char* other) {
    if (!strcmp(name, "open")) return closed(open(one, flags(other), 0600));
    if (!strcmp(name, "creat")) return closed(creat(one, 0600));
    if (!strcmp(name, "fopen")) {
        FILE* file = fopen(one, other);
        return file ? fclose(file) : -1;
    }
    if (!strcmp(name, "unlink")) return unlink(one);
    if (!strcmp(name, "rmdir")) return rmdir(one);
    if (!strcmp(name, "mkdir")) return mkdir(one, 0700);
    if (!strcmp(name, "mkfifo")) return mkfifo(one, 0600);
    if (!strcmp(name, "symlink")) return symlink(one, other);
    if (!strcmp(name, "link")) return link(one, other);
    if (!strcmp(name, "rename")) return rename(one, other);
    if (!strcmp(name, "bind")) return bound(one);
    if (!strcmp(name, "execv")) return execv(one, (char*[]){(char*)one, NULL});
    if (!strcmp(name, "execvp")) return execvp(one, (char*[]){(char*)one, NULL});
    if (!strcmp(name, "spawn")) return spawned(posix_spawn, one, other);
    if (!strcmp(name, "spawnp")) return spawned(posix_spawnp, one, other);
    if (!strcmp(name, "to")) return posix_spawn_file_actions_addopen(all_actions(), 1, one, flags(other), 0600);
    if (!strcmp(name, "in")) return posix_spawn_file_actions_addchdir_np(all_actions(), one);
    if (!strcmp(name, "never")) return actions = NULL, 0;
    if (!strcmp(name, "setenv")) return setenv(one, other, 1);
    if (!strcmp(name, "system")) return system(one);
    if (!strcmp(name, "chdir")) return unshare(CLONE_FS) || chdir(one);
    if (!strcmp(name, "bytes")) return limited(RLIMIT_FSIZE, one);
    if (!strcmp(name, "descriptors")) return limited(RLIMIT_NOFILE, one);
    if (!strcmp(name, "crowd")) return crowd();
    if (!strcmp(name, "stack")) return stack_bytes = atoi(one), 0;
    if (!strcmp(name, "user")) {
        if (atoi(one)) other_user = atoi(one);
        return setresuid(-1, atoi(one), -1);
    }
    // Of this thread: it ends at the next place that is one to end at.
    if (!strcmp(name, "cancel")) return pthread_cancel(pthread_self());
    errno = ENOSYS;
    return -1;
}

static struct {
    const char *name, *one, *other;
    int result;
    ucontext_t here;
} now;

static void call_now(void) {
    now.result = call(now.name, now.one, now.other);
}

// Nothing is mapped below it.
static int call_on_stack(const char* name, const char* one, const char* other) {
    static ucontext_t there;
    size_t all = stack_bytes + 65536;
    char* start = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED || mprotect(start + 65536, stack_bytes, PROT_READ | PROT_WRITE)) return -1;
    getcontext(&there);
    there.uc_stack.ss_sp = start + 65536;
    there.uc_stack.ss_size = stack_bytes;
    there.uc_link = &now.here;
    makecontext(&there, call_now, 0);
    now.name = name, now.one = one, now.other = other;
    swapcontext(&now.here, &there);
    munmap(start, all);
    return now.result;
}

static char said[1 << 16];
static char** arguments;

static void* make_calls(void* unused) {
    for (char** argument = arguments; *argument; argument++) {
        char name[16] = "", one[256] = "", other[256] = "";
        sscanf(*argument, "%15s %255s %255s", name, one, other);
        errno = 0;
        int result = stack_bytes ? call_on_stack(name, one, other) : call(name, one, other);
        sprintf(said + strlen(said), "%s: %d %s\n", *argument, result, strerror(errno));
    }
    return unused;
}

// By calls that nobody notes.
static void copy(const char* path) {
    static char bytes[1 << 20];
    int from = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
    if (from < 0) return;
    int to = syscall(SYS_openat, AT_FDCWD, "journal", O_WRONLY | O_CREAT | O_APPEND, 0600);
    ssize_t length = read(from, bytes, sizeof bytes);
    if (length < 0 || write(to, bytes, length) != length) perror("the journal");
}

// And that of another user, whom the process had become.
static void copy_journals(const char* path) {
    if (!path) return;
    copy(path);
    char other[256];
    snprintf(other, sizeof other, "/var/tmp/strobe-%d%s", other_user, strrchr(path, '/'));
    if (other_user) copy(other);
}

int main(int count, char** all) {
    (void)count;
    arguments = all + 1;
    const char* journal = getenv("STROBE_JOURNAL");
    pthread_t thread;
    if (pthread_create(&thread, NULL, make_calls, NULL)) return 1;
    void* result;
    pthread_join(thread, &result);
    fputs(said, stdout);
    if (result == PTHREAD_CANCELED) puts("cancelled");
    copy_journals(journal);
    return 0;
}

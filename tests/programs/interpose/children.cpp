// Starts env(1) in an environment of its own, A=b, by one of the C library's functions; then it says how a program that is
// not there is answered, and environments that are none.
//
//   children FUNCTION [overwrite]    the latter writes over what it was started with, as setproctitle(3) does
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char variable[] = "A=b";
static char* const nowhere = (char*)16;
static char* whole[] = {variable, nullptr};
static char* broken[] = {variable, nowhere, nullptr};
static char** own = whole;

static int start(const char* how, const char* program) {
    char* arguments[] = {(char*)program, nullptr};
    auto is = [&](const char* name) { return !strcmp(how, name); };
    if (is("posix_spawn") || is("posix_spawnp")) {
        auto spawn = is("posix_spawn") ? posix_spawn : posix_spawnp;
        pid_t child;
        int error = spawn(&child, program, nullptr, nullptr, arguments, own);
        if (!error) waitpid(child, nullptr, 0);
        return error;
    }
    pid_t child = is("vfork") ? vfork() : fork();
    if (child == 0) {
        if (is("execve") || is("vfork")) execve(program, arguments, own);
        if (is("execvpe")) execvpe(program, arguments, own);
        if (is("execveat")) execveat(AT_FDCWD, program, arguments, own, 0);
        if (is("fexecve")) {
            int file = open(program, O_RDONLY | O_CLOEXEC);
            if (file >= 0) fexecve(file, arguments, own);
        }
        environ = own;
        if (is("execv")) execv(program, arguments);
        if (is("execvp")) execvp(program, arguments);
        _exit(errno);
    }
    int status;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

int main(int, char** arguments) {
    fclose(fopen("/dev/null", "w"));
    if (arguments[2])
        for (char** variable = environ; *variable; variable++) memset(*variable, 'x', strlen(*variable));
    const char* env = "/usr/bin/env";
    int found = start(arguments[1], env);
    printf("%d %s\n", found, strerror(start(arguments[1], "/nowhere/env")));
    for (char** none : {broken, (char**)nowhere}) {
        own = none;
        puts(strerror(start(arguments[1], env)));
    }
    return 0;
}

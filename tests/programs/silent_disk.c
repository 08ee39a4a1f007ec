/* A disk that does not answer: whoever opens FOLDER's entries waits for as long as this runs.
   silent_disk FOLDER   says "silent" when it is so */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/fanotify.h>
#include <unistd.h>

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    int group = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC);
    if (group < 0) {
        perror("fanotify_init");
        return 1;
    }
    unsigned long long opens = FAN_OPEN_PERM | FAN_EVENT_ON_CHILD | FAN_ONDIR;
    if (fanotify_mark(group, FAN_MARK_ADD, opens, AT_FDCWD, argv[1]) != 0) {
        perror(argv[1]);
        return 1;
    }
    puts("silent");
    fflush(stdout);
    /* Nobody reads what they ask, so nobody is allowed; all are when the group is closed. */
    for (;;) pause();
}

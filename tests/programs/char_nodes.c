// Loaded into CRIU: the block nodes of the software GPU look like the character devices that they stand for
// (511:0 and 226:MINOR). CRIU's own amdgpu plugin knows the driver's files by that, and CRIU compares the kind
// of a file with the one it was dumped as. And libdrm, of which that plugin uses a GPU in each of its threads, tells GPUs apart
// by a name that the kernel has for them in /sys.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { kKfd = 511, kDrm = 226, kFirst = 128, kLast = 191 };

static long look(int folder, const char* path, struct stat* into, int flags) {
    return syscall(SYS_newfstatat, folder, path, into, flags);
}

// What a block device stands for; 0 if it is none of the driver's. Asked anew each time: CRIU enters other
// mount namespaces.
static dev_t stands_for(dev_t device) {
    struct stat node;
    if (look(AT_FDCWD, "/dev/kfd", &node, 0) == 0 && node.st_rdev == device) return makedev(kKfd, 0);
    for (int minor = kFirst; minor <= kLast; minor++) {
        char path[64];
        snprintf(path, sizeof path, "/dev/dri/renderD%d", minor);
        if (look(AT_FDCWD, path, &node, 0) == 0 && node.st_rdev == device) return makedev(kDrm, minor);
    }
    return 0;
}

static int changed(long result, struct stat* file) {
    dev_t device = result == 0 && S_ISBLK(file->st_mode) ? stands_for(file->st_rdev) : 0;
    if (device) {
        file->st_mode = (file->st_mode & ~S_IFMT) | S_IFCHR;
        file->st_rdev = device;
    }
    return result;
}

int fstatat(int folder, const char* path, struct stat* into, int flags) {
    return changed(look(folder, path, into, flags), into);
}
// The software GPU's, which is loaded behind this, knows the inodes of dma-bufs.
int fstat(int file, struct stat* into) {
    static int (*next)(int, struct stat*);
    if (!next) next = (int (*)(int, struct stat*))dlsym(RTLD_NEXT, "fstat");
    return changed(next ? next(file, into) : look(file, "", into, AT_EMPTY_PATH), into);
}
int stat(const char* path, struct stat* into) { return fstatat(AT_FDCWD, path, into, 0); }
// The same struct on this machine.
int fstatat64(int folder, const char* path, struct stat64* into, int flags) {
    return fstatat(folder, path, (struct stat*)into, flags);
}
int fstat64(int file, struct stat64* into) { return fstat(file, (struct stat*)into); }
int stat64(const char* path, struct stat64* into) { return stat(path, (struct stat*)into); }

int statx(int folder, const char* path, int flags, unsigned mask, struct statx* into) {
    int result = syscall(SYS_statx, folder, path, flags, mask, into);
    if (result != 0 || !S_ISBLK(into->stx_mode)) return result;
    dev_t device = stands_for(makedev(into->stx_rdev_major, into->stx_rdev_minor));
    if (device) {
        into->stx_mode = (into->stx_mode & ~S_IFMT) | S_IFCHR;
        into->stx_rdev_major = major(device);
        into->stx_rdev_minor = minor(device);
    }
    return result;
}

// As in libdrm.
char* drmGetPrimaryDeviceNameFromFd(int file) {
    struct stat node;
    char* name;
    if (fstat(file, &node) || major(node.st_rdev) != kDrm) return NULL;
    return asprintf(&name, "/dev/dri/card%d", minor(node.st_rdev) - kFirst) < 0 ? NULL : name;
}

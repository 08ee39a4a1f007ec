// Files that are written, closed, and then for a while only there: each by another function of the C library, one
// with the times of another file, one with a name that is not UTF-8, some in a folder that was renamed. When the
// file "go" is there, they are given their names, read, and removed or written anew. It says "closed" when it waits,
// and ends well if all was found as it was left.
//
//   closes
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "check.h"

__global__ void count(unsigned* words) { words[threadIdx.x] += 1; }

static void expect(bool done, const std::string& what) {
    if (done) return;
    perror(what.c_str());
    exit(1);
}

static std::string content_of(const std::string& name) { return std::string(5000, name[0]) + name; }

static void write_to(int file, const std::string& name) {
    std::string content = content_of(name);
    expect(write(file, content.data(), content.size()) == (ssize_t)content.size(), name);
    expect(close(file) == 0, name);
}

static void write_stream(FILE* stream, const std::string& name) {
    expect(stream, name);
    expect(fputs(content_of(name).c_str(), stream) >= 0 && fclose(stream) == 0, name);
}

static void holds(const std::string& name, const std::string& content) {
    std::ifstream file(name, std::ios::binary);
    expect(file.good(), name);
    std::string found((std::istreambuf_iterator<char>(file)), {});
    if (found == content) return;
    fprintf(stderr, "%s is another\n", name.c_str());
    exit(1);
}

int main() {
    unsigned* words;
    CHECK(hipMalloc(&words, 64 * sizeof(unsigned)));
    CHECK(hipMemset(words, 0, 64 * sizeof(unsigned)));
    DIR* here = opendir(".");
    expect(here, "opendir");
    write_to(open("descriptor.tmp", O_CREAT | O_WRONLY | O_TRUNC, 0600), "descriptor");
    write_to(openat(dirfd(here), "relative.tmp", O_CREAT | O_RDWR, 0640), "relative");
    write_to(creat("created.tmp", 0644), "created");
    write_stream(fopen("stream.tmp", "wb"), "stream");
    write_stream(freopen("again.tmp", "w", fopen("/dev/null", "r")), "again");
    std::ofstream("library.tmp", std::ios::binary) << content_of("library");
    std::ofstream("last.tmp") << "first";
    expect(rename("last.tmp", "last") == 0, "last");
    closedir(here);
    write_to(open("copied.tmp", O_CREAT | O_WRONLY, 0600), "copied");
    timespec long_ago[2] = {{1000000, 0}, {1000000, 0}};
    expect(utimensat(AT_FDCWD, "copied.tmp", long_ago, 0) == 0, "copied");
    write_to(open("unlinked", O_CREAT | O_WRONLY, 0600), "linked");
    expect(link("unlinked", "linked.tmp") == 0 && unlink("unlinked") == 0, "linked");
    write_to(open("\xff\xfe.tmp", O_CREAT | O_WRONLY, 0600), "\xff\xfe");
    int held = open("held\xff", O_CREAT | O_RDWR, 0600);
    expect(write(held, "held", 4) == 4, "held");
    expect(mkdir("making", 0711) == 0 && mkdir("making/part", 0700) == 0, "making");
    std::ofstream("making/part/model") << "model";
    expect(rename("making", "made") == 0, "made");
    say("closed");
    while (access("go", F_OK)) {
        count<<<1, 64>>>(words);
        CHECK(hipDeviceSynchronize());
        usleep(1000);
    }
    for (std::string name : {"descriptor", "relative", "created", "stream", "again", "library", "copied",
                             "linked", "\xff\xfe"}) {
        expect(rename((name + ".tmp").c_str(), name.c_str()) == 0, name);
        holds(name, content_of(name));
        expect(unlink(name.c_str()) == 0, name);
    }
    struct stat folder;
    expect(stat("made", &folder) == 0 && (folder.st_mode & 0777) == 0711, "made");
    expect(stat("made/part", &folder) == 0 && (folder.st_mode & 0777) == 0700, "made/part");
    holds("made/part/model", "model");
    expect(unlink("made/part/model") == 0 && rmdir("made/part") == 0 && rmdir("made") == 0, "made");
    holds("held\xff", "held");
    expect(write(held, " on", 3) == 3 && close(held) == 0, "held");
    holds("held\xff", "held on");
    holds("last", "first");
    std::ofstream("last.tmp") << "second";
    expect(rename("last.tmp", "last") == 0, "last");
    say("all as it was left");
}

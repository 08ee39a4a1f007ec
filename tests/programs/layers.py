"""Has files in the ways in which an overlay is unlike what is below it, and uses them when it gets SIGUSR1.

Its log says what it found. Each path that it is told is one that it appends to then, and reads; of the folder of each it
tells the mode and the owner. A folder gets the name "renamed" where it is told of something in that.
"""
import ctypes
import mmap
import os
import signal
import sys
import time

hip = ctypes.CDLL("libamdhip64.so.5")
BYTES = 4096
told = []
signal.signal(signal.SIGUSR1, lambda *_: told.append(True))


def check(status):
    if status != 0:
        sys.exit(f"HIP says {status}")


def content(path):
    with open(path) as file:
        return file.read().split()


def append(path, text):
    with open(path, "a") as file:
        file.write(text)


place = ctypes.c_void_p()
check(hip.hipMalloc(ctypes.byref(place), ctypes.c_size_t(BYTES)))
result = ctypes.create_string_buffer(BYTES)
append("counter", "0 ")
append("first", "one ")
os.link("first", "second")
first = open("first", "a")
append("mapped", "0" * BYTES)
with open("mapped", "rb") as file:
    mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
append("read", "before ")
read = open("read")
os.mkdir("folder")
append("folder/x", "in it ")
log = open("log", "w")
print("begun", flush=True)
made = 0
while not told:
    check(hip.hipMemset(place, ctypes.c_int(made % 251), ctypes.c_size_t(BYTES)))
    check(hip.hipMemcpy(result, place, ctypes.c_size_t(BYTES), ctypes.c_int(2)))
    if result.raw != bytes([made % 251]) * BYTES:
        sys.exit(f"round {made} is wrong")
    made += 1
    time.sleep(0.02)
print("counter", content("counter"), file=log)
append("counter", "1 ")
first.write("two ")
first.flush()
one_file = os.stat("first").st_ino == os.stat("second").st_ino
print("names", content("second"), one_file, os.stat("second").st_nlink, file=log)
with open("mapped", "r+b") as file:
    file.write(b"1")
print("mapped", mapped[:2], file=log)
append("read", "after ")
print("read", read.read().split(), file=log)
for path in sys.argv[1:]:
    if path.startswith("renamed/"):
        os.rename("folder", "renamed")
    folder = os.stat(os.path.dirname(path) or ".")
    append(path, "its ")
    print(path, content(path), oct(folder.st_mode), folder.st_uid, file=log)
# Numbers are those of who looks.
print("number", os.readlink("/proc/self") == str(os.getpid()), file=log)
log.close()
print("end", flush=True)

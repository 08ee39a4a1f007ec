"""Has things by a path below its folder: itself, a log, data that it maps, a file that it has removed, a folder that is
open and watched, and a socket. Its last line says where it finds itself then.

Each round, of as many as are told, looks at all of them, and has a kernel's result.
"""
import ctypes
import mmap
import os
import socket
import sys
import time

hip = ctypes.CDLL("libamdhip64.so.5")
libc = ctypes.CDLL(None, use_errno=True)
BYTES = 4096


def check(status):
    if status != 0:
        sys.exit(f"HIP says {status}")


def rounds_in_all():
    try:
        with open("log.rounds") as told:
            return int(told.read())
    except FileNotFoundError:
        return int(sys.argv[1])


place = ctypes.c_void_p()
check(hip.hipMalloc(ctypes.byref(place), ctypes.c_size_t(BYTES)))
here = os.getcwd()
with open("data", "rb") as file:
    data = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
removed = open(f"{here}/removed", "w+b")
removed.write(b"removed")
removed.flush()
os.unlink(removed.name)
folder = os.open("sub", os.O_RDONLY)
watch = libc.inotify_init1(os.O_NONBLOCK)
if libc.inotify_add_watch(watch, b"sub", 0x100) < 0:
    sys.exit("no watch")
server = socket.socket(socket.AF_UNIX)
server.bind(f"{here}/socket")
server.listen()
log = open("log", "w")
result = ctypes.create_string_buffer(BYTES)
made = 0
while made < rounds_in_all():
    check(hip.hipMemset(place, ctypes.c_int(made % 251), ctypes.c_size_t(BYTES)))
    check(hip.hipMemcpy(result, place, ctypes.c_size_t(BYTES), ctypes.c_int(2)))
    if result.raw != bytes([made % 251]) * BYTES or data[:4] != b"data":
        sys.exit(f"round {made} is wrong")
    removed.seek(0)
    if removed.read() != b"removed":
        sys.exit("the removed file is another")
    log.write(f"round {made}\n")
    log.flush()
    made += 1
    time.sleep(0.02)
client = socket.socket(socket.AF_UNIX)
client.connect(f"{os.getcwd()}/socket")
accepted, _ = server.accept()
open("sub/news", "w").close()
news = os.read(watch, 4096)
os.unlink("sub/news")
places = [os.getcwd(), server.getsockname(), os.readlink(f"/proc/self/fd/{folder}")]
log.write(f"end {' '.join(places)} {'news' if b'news' in news else 'nothing'}\n")

"""Holds both ends of a TCP connection, and a socket that listens.

Each round, of as many as are told, a kernel's result goes through the connection.
"""
import ctypes
import os
import socket
import sys
import time

hip = ctypes.CDLL("libamdhip64.so.5")
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
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(("127.0.0.1", 0))
server.listen()
connects = "connected" in sys.argv
if connects:
    one = socket.create_connection(server.getsockname())
    other, _ = server.accept()
    # Always under way when a checkpoint is taken.
    one.sendall(bytes(BYTES))

log = open("log", "w")
result = ctypes.create_string_buffer(BYTES)
expected = bytes(BYTES)
closed = False
made = 0
while made < rounds_in_all():
    check(hip.hipMemset(place, ctypes.c_int(made % 251), ctypes.c_size_t(BYTES)))
    check(hip.hipMemcpy(result, place, ctypes.c_size_t(BYTES), ctypes.c_int(2)))
    if connects and not closed:
        try:
            one.sendall(result.raw)
            got = other.recv(BYTES, socket.MSG_WAITALL)
            if got != expected:
                sys.exit(f"round {made}: {len(got)} bytes that were not sent")
        except OSError as error:
            closed = True
            print(f"closed: {error.strerror}", flush=True)
        expected = result.raw
    log.write(f"round {made}\n")
    log.flush()
    made += 1
    time.sleep(0.005)
# What listened does.
last = socket.create_connection(server.getsockname())
server.accept()[0].sendall(b"hello")
if last.recv(5, socket.MSG_WAITALL) != b"hello":
    sys.exit("nobody answers")
log.write("end\n")
log.close()
os._exit(0)

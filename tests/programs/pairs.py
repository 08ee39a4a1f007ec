"""Has a socket that listens; told so, both ends of a TCP connection ("connected"), an end that outlives
its connection ("over"), sockets of other kinds ("others"), or
some with that which CRIU does not save ("loses"): what of it is there in the end stands in "kept".

Each round, of as many as are told, a kernel's result goes through the connection.
"""
import ctypes
import os
import socket
import struct
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
with open("port", "w") as port:
    port.write(str(server.getsockname()[1]))
connects = "connected" in sys.argv
if connects:
    one = socket.create_connection(server.getsockname())
    other, _ = server.accept()
    # Always under way when a checkpoint is taken.
    one.sendall(bytes(BYTES))

over = None
if "over" in sys.argv:
    over = socket.create_connection(server.getsockname())
    refuses, _ = server.accept()
    # It is reset.
    refuses.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    refuses.close()
others = "others" in sys.argv
if others:
    families = [socket.AF_INET, socket.AF_INET6]
    unbound = [socket.socket(family) for family in families]
    asks = socket.socket(type=socket.SOCK_DGRAM)
    answers = socket.socket(type=socket.SOCK_DGRAM)
    answers.bind(("127.0.0.1", 0))
    asks.connect(answers.getsockname())
    broad = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    broad.bind(("::1", 0))

loses = "loses" in sys.argv
IP_RECVERR, TCP_USER_TIMEOUT = 11, 18
if loses:
    asked = socket.socket(type=socket.SOCK_DGRAM)
    asked.bind(("127.0.0.1", 0))
    asked.setsockopt(socket.IPPROTO_IP, IP_RECVERR, 1)
    socket.socket(type=socket.SOCK_DGRAM).sendto(b"unread", asked.getsockname())
    member = socket.socket(type=socket.SOCK_DGRAM)
    member.bind(("0.0.0.0", 0))
    group = socket.inet_aton("224.1.2.3") + socket.inet_aton("127.0.0.1")
    member.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)
    server.setsockopt(socket.IPPROTO_TCP, TCP_USER_TIMEOUT, 5000)
if "linked" in sys.argv:
    held = open("opened", "w")
    os.link("opened", "other")
    os.unlink("opened")

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
if over and over.fileno() < 0:
    sys.exit("it is gone")
if others:
    for one in unbound:
        if one.getsockname()[1] != 0:
            sys.exit("a port that nobody has asked for")
    asks.send(b"hello")
    socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b"hello", broad.getsockname())
    for receiver in (answers, broad):
        if receiver.recv(5) != b"hello":
            sys.exit("a datagram is lost")
if loses:
    kept = []
    try:
        kept.append(asked.recv(99, socket.MSG_DONTWAIT).decode())
    except BlockingIOError:
        pass
    if asked.getsockopt(socket.IPPROTO_IP, IP_RECVERR):
        kept.append("IP_RECVERR")
    try:
        member.setsockopt(socket.IPPROTO_IP, socket.IP_DROP_MEMBERSHIP, group)
        kept.append("member")
    except OSError:
        pass
    if server.getsockopt(socket.IPPROTO_TCP, TCP_USER_TIMEOUT):
        kept.append("TCP_USER_TIMEOUT")
    with open("kept", "w") as end:
        end.write(" ".join(kept))
log.write("end\n")
log.close()
os._exit(0)

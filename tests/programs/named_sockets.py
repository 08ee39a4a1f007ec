"""Listens at a TCP port of 127.0.0.1 that it is told, or, of a word that begins with @, at an abstract name.

When it gets SIGUSR1, it tells what it is sent by itself.
"""
import ctypes
import signal
import socket
import sys
import time

hip = ctypes.CDLL("libamdhip64.so.5")
told = []
signal.signal(signal.SIGUSR1, lambda *_: told.append(True))
place = ctypes.c_void_p()
if hip.hipMalloc(ctypes.byref(place), ctypes.c_size_t(4096)) != 0:
    sys.exit("no memory")
listeners = []
for word in sys.argv[1:]:
    if word.startswith("@"):
        family, address = socket.AF_UNIX, "\0" + word[1:]
    else:
        family, address = socket.AF_INET, ("127.0.0.1", int(word))
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(address)
    listener.listen()
    listeners.append((family, address, listener))
print("begun", flush=True)
while not told:
    time.sleep(0.02)
for family, address, listener in listeners:
    with socket.socket(family) as client:
        client.connect(address)
        client.send(b"own")
        print("got", listener.accept()[0].recv(3), flush=True)
print("end", flush=True)

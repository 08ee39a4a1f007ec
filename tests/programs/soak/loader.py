"""A trainer whose batches come from workers: queues, a lock, a shared number, a pipe, shared memory with a name.

    loader.py fork|spawn [ROUNDS]

The workers are forked before the device is used, or started anew while it is.
"""

import ctypes
import multiprocessing
import sys
import time
from multiprocessing import shared_memory

WORKERS = 2
AHEAD = 4
BYTES = 1 << 16


def batch(number):
    return bytes((number * 7 + i * i) % 251 for i in range(256)) * (BYTES // 256)


def work(tasks, ready, lock, count, shared, wishes):
    memory = shared_memory.SharedMemory(name=shared)
    faster = 0
    while (task := tasks.get()) is not None:
        if wishes.poll():
            faster = wishes.recv()
        time.sleep(0.01 / (1 + faster))
        place = task % (2 * AHEAD) * BYTES
        with lock:
            count.value += 1
        memory.buf[place : place + BYTES] = batch(task)
        ready.put(task)
    memory.close()


class Device:
    """Adds up batches in its memory, with copies only."""

    def __init__(self):
        self.hip = ctypes.CDLL("libamdhip64.so.5")
        self.memory = ctypes.c_void_p()
        self.must(self.hip.hipMalloc(ctypes.byref(self.memory), ctypes.c_size_t(64 * BYTES)))
        self.must(self.hip.hipMemset(self.memory, 0, ctypes.c_size_t(64 * BYTES)))

    def must(self, status):
        if status:
            raise SystemExit(f"loader.py: HIP says {status}")

    def put(self, number, content):
        place = ctypes.c_void_p(self.memory.value + number % 64 * BYTES)
        self.must(self.hip.hipMemcpy(place, content, ctypes.c_size_t(BYTES), 1))

    def digest(self, numbers):
        value = 0
        for number in range(min(numbers, 64)):
            place = ctypes.c_void_p(self.memory.value + number * BYTES)
            content = ctypes.create_string_buffer(BYTES)
            self.must(self.hip.hipMemcpy(content, place, ctypes.c_size_t(BYTES), 2))
            value = (value * 31 + int.from_bytes(content.raw[:4096], "little")) % (1 << 61)
        return value


def main():
    method = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 80
    context = multiprocessing.get_context(method)
    device = Device() if method == "spawn" else None
    memory = shared_memory.SharedMemory(create=True, size=2 * AHEAD * BYTES)
    tasks, ready = context.Queue(), context.Queue()
    lock, count = context.Lock(), context.Value("i", 0)
    # A process of its own, behind a socket in a folder that goes with it.
    manager = context.Manager()
    sums = manager.dict()
    pipes = [context.Pipe() for _ in range(WORKERS)]
    workers = [
        context.Process(target=work, args=(tasks, ready, lock, count, memory.name, theirs), daemon=True)
        for _, theirs in pipes
    ]
    for worker in workers:
        worker.start()
    device = device or Device()
    done = set()
    for number in range(AHEAD):
        tasks.put(number)
    for number in range(rounds):
        while number not in done:
            done.add(ready.get())
        place = number % (2 * AHEAD) * BYTES
        device.put(number, bytes(memory.buf[place : place + BYTES]))
        tasks.put(number + AHEAD)
        if number % 16 == 0:
            for ours, _ in pipes:
                ours.send(number // 16 % 3)
        sums[number % 8] = sums.get(number % 8, 0) + number
        print(f"round {number} {device.digest(4 if number % 8 else 64):x}", flush=True)
        time.sleep(number * 7919 % 40 / 1000)
    for _ in workers:
        tasks.put(None)
    for worker in workers:
        worker.join()
    codes = [worker.exitcode for worker in workers]
    print("end", codes, count.value, sorted(sums.items()), f"{device.digest(rounds):x}")
    manager.shutdown()
    memory.close()
    memory.unlink()


if __name__ == "__main__":
    main()

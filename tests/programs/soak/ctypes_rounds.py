"""Rounds of a kernel compiled by hiprtc, from Python's ctypes.

    ctypes_rounds.py [ROUNDS]
"""

import ctypes
import sys
import time

hip = ctypes.CDLL("libamdhip64.so.5")
SOURCE = b"""
extern "C" __global__ void step(unsigned* words, unsigned n, unsigned round) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) words[i] = words[i] * 1664525u + (i ^ round);
}"""
COUNT = 1 << 14
BIG = 1 << 22


def must(status):
    if status:
        raise SystemExit(f"ctypes_rounds.py: HIP says {status}")


def compiled():
    program = ctypes.c_void_p()
    must(hip.hiprtcCreateProgram(ctypes.byref(program), SOURCE, b"step.hip", 0, None, None))
    options = (ctypes.c_char_p * 1)(b"--gpu-architecture=gfx906")
    must(hip.hiprtcCompileProgram(program, 1, options))
    size = ctypes.c_size_t()
    must(hip.hiprtcGetCodeSize(program, ctypes.byref(size)))
    code = ctypes.create_string_buffer(size.value)
    must(hip.hiprtcGetCode(program, code))
    return code


def allocated(size):
    memory = ctypes.c_void_p()
    must(hip.hipMalloc(ctypes.byref(memory), ctypes.c_size_t(size)))
    must(hip.hipMemset(memory, 7, ctypes.c_size_t(size)))
    return memory


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 80
    words, big = allocated(4 * COUNT), allocated(BIG)
    code = compiled()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    must(hip.hipModuleLoadData(ctypes.byref(module), code))
    must(hip.hipModuleGetFunction(ctypes.byref(function), module, b"step"))
    got = (ctypes.c_uint * COUNT)()
    for number in range(rounds):
        at = number * 4096 % (BIG - 4 * COUNT)
        n, mark = ctypes.c_uint(COUNT), ctypes.c_uint(number)
        for target in (words, ctypes.c_void_p(big.value + at)):
            addresses = [ctypes.addressof(value) for value in (target, n, mark)]
            args = (ctypes.c_void_p * 3)(*addresses)
            must(
                hip.hipModuleLaunchKernel(
                    function, COUNT // 256, 1, 1, 256, 1, 1, 0, None, args, None
                )
            )
        must(hip.hipMemcpy(got, words, ctypes.c_size_t(4 * COUNT), 2))
        print(f"round {number} {sum(got):x}", flush=True)
        time.sleep(number * 7919 % 60 / 1000)
    whole = ctypes.create_string_buffer(BIG)
    must(hip.hipMemcpy(whole, big, ctypes.c_size_t(BIG), 2))
    print("end", hash_of(whole.raw), flush=True)


def hash_of(raw):
    value = 0
    for at in range(0, len(raw), 4096):
        value = (value * 31 + int.from_bytes(raw[at : at + 4096], "little")) % (1 << 61)
    return value


main()

"""Compiles and launches a kernel from Python, by ctypes."""

import ctypes

hip = ctypes.CDLL("libamdhip64.so.5")
SOURCE = b"""
extern "C" __global__ void add(unsigned* words, unsigned n, unsigned what) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) words[i] += what * i;
}"""


def must(status):
    if status:
        raise SystemExit(f"launch.py: HIP says {status}")


program = ctypes.c_void_p()
must(hip.hiprtcCreateProgram(ctypes.byref(program), SOURCE, b"add.hip", 0, None, None))
options = (ctypes.c_char_p * 1)(b"--gpu-architecture=gfx906")
must(hip.hiprtcCompileProgram(program, 1, options))
size = ctypes.c_size_t()
must(hip.hiprtcGetCodeSize(program, ctypes.byref(size)))
code = ctypes.create_string_buffer(size.value)
must(hip.hiprtcGetCode(program, code))

count = 65
words = ctypes.c_void_p()
must(hip.hipMalloc(ctypes.byref(words), ctypes.c_size_t(4 * count)))
must(hip.hipMemset(words, 0, ctypes.c_size_t(4 * count)))
module, function = ctypes.c_void_p(), ctypes.c_void_p()
must(hip.hipModuleLoadData(ctypes.byref(module), code))
must(hip.hipModuleGetFunction(ctypes.byref(function), module, b"add"))
n, what = ctypes.c_uint(count), ctypes.c_uint(1)
args = (ctypes.c_void_p * 3)(*(ctypes.addressof(arg) for arg in (words, n, what)))
must(hip.hipModuleLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, None, args, None))
got = (ctypes.c_uint * count)()
must(hip.hipMemcpy(got, words, ctypes.c_size_t(4 * count), 2))
print("sum", sum(got))
must(hip.hipFree(words))

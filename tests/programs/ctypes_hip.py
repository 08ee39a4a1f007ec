"""Reaches HIP from Python's ctypes, as many tools do."""

import ctypes
import sys

hip = ctypes.CDLL("libamdhip64.so.5")
memory = ctypes.c_void_p()
size = 4096
errors = hip.hipMalloc(ctypes.byref(memory), ctypes.c_size_t(size))
errors |= hip.hipMemset(memory, 0x3C, ctypes.c_size_t(size))
got = ctypes.create_string_buffer(size)
errors |= hip.hipMemcpy(got, memory, ctypes.c_size_t(size), 2)
errors |= hip.hipFree(memory)
bad = sum(byte != 0x3C for byte in got.raw)
print(f"ctypes errors={errors} bad={bad}", flush=True)
sys.exit(errors != 0 or bad != 0)

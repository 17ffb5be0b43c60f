"""The library that recorded runs have in front of the allocator counts, and changes nothing."""

import os
import subprocess
import sys
from pathlib import Path

from tests.runtime.test_exports import exported

LIBRARY = Path(__file__).parents[2] / "src/mpiric/_native/any/libmpiric-allocator.so"
FUNCTIONS = {"malloc", "calloc", "realloc", "free", "memalign", "aligned_alloc", "posix_memalign"}
# Prints what 1000 allocations of a thread, ten large ones and memory of each other kind add to the totals.
PROGRAM = """
import ctypes, threading, time

class Totals(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("calls", "large_calls", "time_ns")]

c = ctypes.CDLL(None)
c.mpiric_allocator_totals.restype = Totals
for name in ("malloc", "calloc", "realloc", "memalign", "aligned_alloc"):
    getattr(c, name).restype = ctypes.c_void_p
c.free.argtypes = [ctypes.c_void_p]
c.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

def small():
    for _ in range(1000):
        c.free(c.malloc(40))

before, began = c.mpiric_allocator_totals(), time.monotonic_ns()
thread = threading.Thread(target=small)
thread.start()
thread.join()
for _ in range(10):
    c.free(c.malloc(1 << 20))
zeros = c.calloc(8, 1 << 20)
assert ctypes.string_at(zeros, 8 << 20) == bytes(8 << 20)
c.free(zeros)
grown = c.realloc(c.malloc(10), 1 << 20)
ctypes.memset(grown, 7, 1 << 20)
grown = c.realloc(grown, 5)
assert ctypes.string_at(grown, 5) == bytes([7]) * 5
c.free(grown)
for aligned in (c.memalign(4096, 100), c.aligned_alloc(4096, 4096)):
    assert aligned % 4096 == 0
    c.free(aligned)
place = ctypes.c_void_p()
assert c.posix_memalign(ctypes.byref(place), 64, 100) == 0 and place.value % 64 == 0
assert c.posix_memalign(ctypes.byref(place), 3, 100) == 22
assert c.calloc(ctypes.c_size_t(1 << 62), ctypes.c_size_t(8)) is None
after, took = c.mpiric_allocator_totals(), time.monotonic_ns() - began
print(after.calls - before.calls, after.large_calls - before.large_calls)
assert 0 < after.time_ns - before.time_ns < took
"""


def test_calls_of_all_threads_are_counted_and_timed() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "LD_PRELOAD": str(LIBRARY)},
        capture_output=True,
        text=True,
        check=True,
    )
    calls, large_calls = done.stdout.split()
    assert 1000 + 10 + 1 + 3 + 2 <= int(calls) <= 3000  # Python allocates as well
    assert 12 <= int(large_calls) <= 20


def test_nothing_else_is_exported() -> None:
    assert exported(LIBRARY) == {*FUNCTIONS, "mpiric_allocator_totals"}

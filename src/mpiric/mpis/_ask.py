"""Asking an MPI library for its version: the truth about what a file named libmpi really is."""

from mpiric.host.host import Host

# MPI_Get_library_version may be called before MPI_Init. It runs in a process of its own: loading two
# MPI libraries into one process mixes their symbols, and a broken library must not take mpiric along.
ASK_VERSION = """\
import ctypes, sys
library = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
text, length = ctypes.create_string_buffer(65536), ctypes.c_int()
library.MPI_Get_library_version(text, ctypes.byref(length))
sys.stdout.write(text.value.decode(errors="replace"))
"""

TIMEOUT_S = 15.0


def ask_version(host: Host, library: str) -> str:
    """What ``MPI_Get_library_version`` of a shared library answers, "" when it cannot be loaded.

    Where LD_LIBRARY_PATH brings something that the library does not load with (another libfabric), it is
    asked without: LD_LIBRARY_PATH goes before where a library itself looks for what it needs.
    """
    words = [host.python, "-I", "-c", ASK_VERSION, library]
    answer = host.run_cached(words, [library], timeout_s=TIMEOUT_S)
    if answer.status != 0 and host.environ.get("LD_LIBRARY_PATH"):
        answer = host.run_cached(words, [library], environment={"LD_LIBRARY_PATH": None}, timeout_s=TIMEOUT_S)
    return answer.stdout.strip("\x00 \n") if answer.status == 0 else ""

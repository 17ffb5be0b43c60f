"""Version of an MPI library, as the library itself reports it."""

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
    """Return the answer of ``MPI_Get_library_version``, or "" if the library cannot be loaded.

    If LD_LIBRARY_PATH has a file that breaks the library (another libfabric), it is asked again without,
    because LD_LIBRARY_PATH precedes the library's own search path.
    """
    command = [host.python, "-I", "-c", ASK_VERSION, library]
    answer = host.run_cached(command, [library], timeout_s=TIMEOUT_S)
    if answer.status != 0 and host.environ.get("LD_LIBRARY_PATH"):
        answer = host.run_cached(
            command, [library], environment={"LD_LIBRARY_PATH": None}, timeout_s=TIMEOUT_S
        )
    return answer.stdout.strip("\x00 \n") if answer.status == 0 else ""

"""Print the names and descriptions of the MPI_T control variables of the library given as argument.

Run as a program of one rank, with the environment the library needs. No handles are used, so the same
calls fit every ABI.
"""

import ctypes
import sys


def main(library: str) -> None:
    mpi = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    provided = ctypes.c_int()
    mpi.MPI_T_init_thread(0, ctypes.byref(provided))
    count = ctypes.c_int()
    mpi.MPI_T_cvar_get_num(ctypes.byref(count))
    for index in range(count.value):
        name, text = ctypes.create_string_buffer(512), ctypes.create_string_buffer(8192)
        lengths = ctypes.c_int(512), ctypes.c_int(8192)
        verbosity, bind, scope = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        datatype, enumeration = ctypes.c_void_p(), ctypes.c_void_p()
        failed = mpi.MPI_T_cvar_get_info(
            index,
            name,
            ctypes.byref(lengths[0]),
            ctypes.byref(verbosity),
            ctypes.byref(datatype),
            ctypes.byref(enumeration),
            text,
            ctypes.byref(lengths[1]),
            ctypes.byref(bind),
            ctypes.byref(scope),
        )
        if not failed:
            print(name.value.decode(), " ".join(text.value.decode(errors="replace").split()), sep="\t")


main(sys.argv[1])

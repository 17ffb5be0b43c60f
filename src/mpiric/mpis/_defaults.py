"""Default values of a library's variables, as the library reports them."""

import json
import re
from collections.abc import Mapping
from posixpath import dirname

from mpiric.host.host import HERE, Host
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.mpis._implementation import variable_beginnings

_TIMEOUT_S = 15.0
# MPI_T may be used before MPI_Init. The numbers are MPICH's: MPI_INT, MPI_CHAR and MPI_T_BIND_NO_OBJECT.
_ASK = """\
import ctypes, json, sys
library, found = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL), {}
number = ctypes.c_int()
if library.MPI_T_init_thread(0, ctypes.byref(number)) or library.MPI_T_cvar_get_num(ctypes.byref(number)):
    sys.exit(1)
for index in range(number.value):
    name, length = ctypes.create_string_buffer(256), ctypes.c_int(256)
    text, text_length = ctypes.create_string_buffer(1), ctypes.c_int(1)
    verbosity, kind, bind, scope = ctypes.c_int(), ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    given = (name, length, verbosity, kind, None, text, text_length, bind, scope)
    given = [each if each in (None, name, text) else ctypes.byref(each) for each in given]
    if library.MPI_T_cvar_get_info(index, *given) or bind.value != 9700:
        continue
    handle, count = ctypes.c_void_p(), ctypes.c_int()
    if library.MPI_T_cvar_handle_alloc(index, None, ctypes.byref(handle), ctypes.byref(count)):
        continue
    buffer = ctypes.create_string_buffer(max(4096, 8 * count.value))
    if library.MPI_T_cvar_read(handle, buffer):
        continue
    if kind.value == 0x4C000405 and count.value == 1:
        found[name.value.decode()] = str(ctypes.c_int.from_buffer(buffer).value)
    elif kind.value == 0x4C000101:
        found[name.value.decode(errors="replace")] = buffer.value.decode(errors="replace")
json.dump(found, sys.stdout)
"""
_PARAMETER = re.compile(r"^mca:[^:]*:[^:]*:param:(\w+):(value|source):(.*)$", re.MULTILINE)


def defaults_of(host: Host, mpi: MpiLibrary) -> Mapping[str, str]:
    """Return variable → default value; empty if the library cannot be queried."""
    unset: dict[str, str | None] = {
        name: None for name in host.environ if name.startswith(variable_beginnings())
    }
    environment = {**unset, **mpi.environment}
    if AbiFamily.OPENMPI in mpi.abi_families:
        command = [f"{dirname(mpi.launcher)}/ompi_info", "--parsable", "--all", "--level", "9"]
        # Not cached, because a site's parameter file may change.
        answer = host.run(command, environment=environment, timeout_s=_TIMEOUT_S, working_directory=HERE)
        return _of_parameters(answer.stdout) if answer.status == 0 else {}
    answer = host.run_cached(
        [host.python, "-I", "-c", _ASK, mpi.library],
        [mpi.library],
        environment=environment,
        timeout_s=_TIMEOUT_S,
    )
    try:
        defaults = json.loads(answer.stdout) if answer.status == 0 else {}
    except ValueError:
        return {}
    return {str(name): str(value) for name, value in defaults.items()}


def _of_parameters(text: str) -> dict[str, str]:
    """Return the parameters that come from the library or a site's file."""
    values, sources = dict[str, str](), dict[str, str]()
    for name, kind, content in _PARAMETER.findall(text):
        (values if kind == "value" else sources)[name] = content
    return {
        f"OMPI_MCA_{name}": value
        for name, value in values.items()
        if sources.get(name, "").startswith(("default", "file"))
    }

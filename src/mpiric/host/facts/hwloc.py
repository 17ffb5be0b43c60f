"""Topologies from libhwloc through ctypes, as XML. hwloc is not a build-time dependency.

libhwloc crashes on some damaged descriptions. All input except the topology of this machine is therefore
read in a child process, which runs this file as a script.
"""

import ctypes
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache

_INCLUDE_DISALLOWED = 1 << 0  # show the whole machine; the limits of this process are read elsewhere
_KEEP_ALL = 0
_L1I_CACHE, _L3I_CACHE = 9, 11  # hwloc_obj_type_t in hwloc 2; instruction caches are filtered out by default
_API_2 = 0x20000


_REJECTED = 3  # exit status of the child
_PATIENCE_S = 120.0


class HwlocDiedError(Exception):
    """libhwloc crashed or hung while it read a description."""


def export_xml(source: str, libraries: Sequence[str]) -> str | None:
    """Return the XML of this machine if ``source`` is empty, else of this XML text or synthetic description.

    Returns None if libhwloc 2 cannot be loaded from the system or ``libraries``, or if it rejects the
    source. Raises HwlocDiedError if it crashes.
    """
    # Imported here, because the child process that runs this file has no package.
    from mpiric.host.command_log import log_start
    from mpiric.host.user_directories import has_relative_library_path, probe_environment

    if not source and not redirections(os.environ) and not has_relative_library_path(os.environ):
        return _export(source, libraries)
    command = [sys.executable, "-I", "-S", __file__, *libraries]
    log_start(command)
    try:
        done = subprocess.run(
            command,
            input=source.encode(errors="replace"),
            env=probe_environment(os.environ),
            cwd="/",
            capture_output=True,
            timeout=_PATIENCE_S,
        )
    except subprocess.TimeoutExpired:
        raise HwlocDiedError(f"libhwloc did not end within {_PATIENCE_S:g} s") from None
    if done.returncode < 0:
        raise HwlocDiedError(f"libhwloc crashed over it ({signal.Signals(-done.returncode).name})")
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None


def redirections(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return variables that make libhwloc describe another machine, for example HWLOC_XMLFILE."""
    return tuple(name for name in sorted(environ) if name.startswith("HWLOC_"))


def _export(source: str, libraries: Sequence[str]) -> str | None:
    hwloc = _load(tuple(libraries))
    if hwloc is None:
        return None
    topology = ctypes.c_void_p()
    if hwloc.hwloc_topology_init(ctypes.byref(topology)) != 0:
        return None
    try:
        return _exported(hwloc, topology) if _prepared(hwloc, topology, source) else None
    finally:
        hwloc.hwloc_topology_destroy(topology)


@lru_cache(maxsize=4)
def _load(libraries: tuple[str, ...]) -> ctypes.CDLL | None:
    opened = (_opened(name) for name in ("libhwloc.so.15", *libraries))
    return next((hwloc for hwloc in opened if hwloc is not None), None)


def _opened(name: str) -> ctypes.CDLL | None:
    try:
        hwloc = ctypes.CDLL(name)
        return _typed(hwloc) if hwloc.hwloc_get_api_version() >= _API_2 else None
    except (OSError, AttributeError):
        return None


def _typed(hwloc: ctypes.CDLL) -> ctypes.CDLL:
    topology = ctypes.c_void_p
    hwloc.hwloc_topology_init.argtypes = [ctypes.POINTER(topology)]
    hwloc.hwloc_topology_destroy.argtypes = [topology]
    hwloc.hwloc_topology_destroy.restype = None
    hwloc.hwloc_topology_set_flags.argtypes = [topology, ctypes.c_ulong]
    hwloc.hwloc_topology_set_type_filter.argtypes = [topology, ctypes.c_int, ctypes.c_int]
    hwloc.hwloc_topology_set_synthetic.argtypes = [topology, ctypes.c_char_p]
    hwloc.hwloc_topology_set_xmlbuffer.argtypes = [topology, ctypes.c_char_p, ctypes.c_int]
    hwloc.hwloc_topology_load.argtypes = [topology]
    hwloc.hwloc_topology_export_xmlbuffer.argtypes = [
        topology,
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.POINTER(ctypes.c_int),
        ctypes.c_ulong,
    ]
    hwloc.hwloc_free_xmlbuffer.argtypes = [topology, ctypes.c_void_p]
    hwloc.hwloc_free_xmlbuffer.restype = None
    return hwloc


def _prepared(hwloc: ctypes.CDLL, topology: ctypes.c_void_p, source: str) -> bool:
    hwloc.hwloc_topology_set_flags(topology, _INCLUDE_DISALLOWED)
    for kind in range(_L1I_CACHE, _L3I_CACHE + 1):
        hwloc.hwloc_topology_set_type_filter(topology, kind, _KEEP_ALL)
    data = source.encode(errors="replace")
    if source.lstrip().startswith("<"):
        # The length includes the terminating zero, which ctypes stores after the bytes.
        if hwloc.hwloc_topology_set_xmlbuffer(topology, data, len(data) + 1) != 0:
            return False
    elif source and hwloc.hwloc_topology_set_synthetic(topology, data) != 0:
        return False
    return bool(hwloc.hwloc_topology_load(topology) == 0)


def _exported(hwloc: ctypes.CDLL, topology: ctypes.c_void_p) -> str | None:
    text, length = ctypes.c_void_p(), ctypes.c_int()
    if (
        hwloc.hwloc_topology_export_xmlbuffer(topology, ctypes.byref(text), ctypes.byref(length), 0) != 0
        or text.value is None
    ):
        return None
    try:
        return ctypes.string_at(text.value).decode(errors="replace")
    finally:
        hwloc.hwloc_free_xmlbuffer(topology, text)


def _main() -> int:
    """Export the description on standard input; runs in the child process."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    xml = _export(sys.stdin.buffer.read().decode(errors="replace"), sys.argv[1:])
    if xml is None:
        return _REJECTED
    sys.stdout.buffer.write(xml.encode(errors="replace"))
    return 0


if __name__ == "__main__":
    sys.exit(_main())

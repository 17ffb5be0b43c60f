"""State of a process from /proc: whether it runs, its system call, its position in the program, its stack."""

import os
import platform
import re
import signal
import socket
import sys
import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from mpiric.host.processes.proc import (
    TICKS_PER_S,
    environment_of,
    program_of,
    read_bytes,
    read_stat,
    signal_one,
)
from mpiric.model.quoting import one_line
from mpiric.model.rank_choice import ObservedProcess, choose_ranks, is_mpi_library, rank_of
from mpiric.model.record import ProcessState

_MOST_STACK_BYTES = 1 << 20  # part of the stack that is read
_MOST_ADDRESSES = 256
_LONGEST_CALL = 7  # bytes of the longest call instruction
_INDIRECT_SIZES = (2, 3, 4, 6, 7)  # x86-64: FF /2 with its addressing forms
_STUB_BYTES = 12  # beginning of an entry of the table of linkage
_STOPPING_S = 0.5  # longest wait for a process to stop
# System calls in which ranks wait, by number; those with a descriptor as the first argument come first.
_ON_A_FILE = {
    "x86_64": {0: "read", 1: "write", 19: "readv", 20: "writev", 42: "connect", 43: "accept", 45: "recvfrom",
               47: "recvmsg", 72: "fcntl", 73: "flock", 74: "fsync", 232: "epoll_wait", 281: "epoll_pwait",
               288: "accept4"},
    "aarch64": {22: "epoll_pwait", 25: "fcntl", 32: "flock", 63: "read", 64: "write", 65: "readv",
                66: "writev", 82: "fsync", 202: "accept", 203: "connect", 207: "recvfrom", 212: "recvmsg",
                242: "accept4"},
}  # fmt: skip
_OTHERS = {
    "x86_64": {7: "poll", 23: "select", 24: "sched_yield", 34: "pause", 35: "nanosleep", 61: "wait4",
               202: "futex", 230: "clock_nanosleep", 257: "openat", 270: "pselect6", 271: "ppoll"},
    "aarch64": {56: "openat", 72: "pselect6", 73: "ppoll", 98: "futex", 101: "nanosleep",
                115: "clock_nanosleep", 124: "sched_yield", 260: "wait4"},
}  # fmt: skip

_SYN_SENT = "02"  # state of a connection in /proc/net/tcp

Modules = list[tuple[int, int, str]]  # first address, end, and file of each mapped file
# Libraries whose functions say nothing about the place in the program, by the beginning of their names.
_OF_SYSTEM = ("libc.so", "libc-2", "libm.so", "libm-2", "ld-linux", "ld-2", "libpthread", "libmpiric")
_LIBC = ("libc.so", "libc-2")


def process_state(pid: int, call_address: int = 0, *, may_stop: bool = False) -> ProcessState | None:
    """Return the state of a process; None if it has ended.

    ``call_address`` is the return address of the MPI call that it is in, if that is known; otherwise the
    stack shows it. ``may_stop``: a process that runs may be stopped for a moment, because the kernel does not
    show its position otherwise.
    """
    stat = read_stat(pid)
    if stat is None or stat.state in "ZX":
        return None
    fields, modules = read_bytes(f"/proc/{pid}/syscall").split(), mapped_files(pid)
    moves = fields == [b"running"] and may_stop and not call_address
    with _stopped(pid) if moves else nullcontext():
        fields = read_bytes(f"/proc/{pid}/syscall").split() if moves else fields
        addresses = _addresses(pid, fields, modules) if not call_address else [call_address]
    name, file = _system_call(pid, fields)
    usage = stat.user_ticks / TICKS_PER_S, stat.system_ticks / TICKS_PER_S, _involuntary_switches(pid)
    places = [place_of(address, modules) for address in addresses]
    if call_address:
        return ProcessState(stat.state, name, file, places[0], (), "", *usage)
    calls, place = _calls_and_place([place for place in places if place], program_of(pid))
    return ProcessState(stat.state, name, file, place, calls, _unanswered(pid), *usage)


def launch_states(pids: Iterable[int], outer: dict[str, str]) -> dict[str, ProcessState]:
    """Return the states of the ranks among processes, by their numbers; without any, of their launchers.

    Launchers have their names as keys. ``outer``: environment of the launch. Processes that run are stopped
    for a moment each.
    """
    processes = []
    for pid in sorted(pids):
        if (stat := read_stat(pid)) is not None and stat.state not in "ZX":
            has_mpi = any(is_mpi_library(path) for _, _, path in mapped_files(pid))
            rank = rank_of(environment_of(pid), outer)
            processes.append(ObservedProcess(pid, stat.parent, program_of(pid), rank, maps_mpi=has_mpi))
    ranks = {str(process.rank or 0): process for process in choose_ranks(processes)}
    launchers = {process.program.rpartition("/")[2]: process for process in processes if process.is_launcher}
    states = {key: process_state(process.pid, may_stop=True) for key, process in (ranks or launchers).items()}
    return {key: state for key, state in states.items() if state is not None}


@contextmanager
def _stopped(pid: int) -> Iterator[None]:
    """Stop a process for a moment."""
    until = time.monotonic() + _STOPPING_S
    signal_one(pid, signal.SIGSTOP)
    try:
        while time.monotonic() < until and (stat := read_stat(pid)) is not None and stat.state not in "TtZX":
            time.sleep(0.001)
        yield
    finally:
        signal_one(pid, signal.SIGCONT)


def _addresses(pid: int, fields: list[bytes], modules: Modules) -> list[int]:
    """Return the position of the first thread and the return addresses of its functions, innermost first."""
    if len(fields) < 3:
        return []
    position, stack_pointer = int(fields[-1], 16), int(fields[-2], 16)
    stack = Stack(pid, [(first, end) for first, end, _ in modules])
    return [position, *stack.return_addresses(position, stack_pointer)]


def _calls_and_place(places: list[str], program: str) -> tuple[tuple[str, ...], str]:
    """Return places in MPI libraries and the C library, innermost first, and the place in the program.

    The first two are empty for a rank outside of MPI whose innermost known function is the program's.
    """
    calls: list[str] = []
    for place in places:
        module = place.rpartition("+")[0]
        name = module.rpartition("/")[2]
        if is_mpi_library(module) or name.startswith(_LIBC):
            calls.append(place)
        elif module == program:
            return tuple(calls), place
    outside = (place for place in places if not place.rpartition("/")[2].startswith(_OF_SYSTEM))
    return tuple(calls), next(outside, next(iter(places), ""))


def _system_call(pid: int, fields: list[bytes]) -> tuple[str, str]:
    """Return the name of the system call and the file that it is about, "" for each unknown one."""
    if len(fields) < 2 or not fields[0].isdigit():
        return "", ""
    number, machine = int(fields[0]), platform.machine()
    if name := _OTHERS.get(machine, {}).get(number, ""):
        return name, ""
    name = _ON_A_FILE.get(machine, {}).get(number, "")
    return (name, _file(pid, int(fields[1], 16))) if name else (f"system call {number}", "")


def _file(pid: int, descriptor: int) -> str:
    target = ""
    with suppress(OSError):
        target = one_line(str(Path(f"/proc/{pid}/fd/{descriptor}").readlink()))
    if descriptor == 0:
        return f"standard input ({target})" if target else "standard input"
    return target


def _involuntary_switches(pid: int) -> int:
    match = re.search(
        rb"^nonvoluntary_ctxt_switches:\s*(\d+)", read_bytes(f"/proc/{pid}/status"), re.MULTILINE
    )
    return int(match[1]) if match else 0


def _unanswered(pid: int) -> str:
    """Return the address to which a process tries to connect without an answer; "" if it does not."""
    sockets = set()
    for entry in _entries(f"/proc/{pid}/fd"):
        with suppress(OSError):
            sockets.add(os.readlink(entry))  # noqa: PTH115
    for table in ("tcp", "tcp6"):
        for line in read_bytes(f"/proc/{pid}/net/{table}").decode().splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and fields[3] == _SYN_SENT and f"socket:[{fields[9]}]" in sockets:
                return _address_of(fields[2])
    return ""


def _entries(directory: str) -> list[str]:
    with suppress(OSError):
        return [f"{directory}/{name}" for name in os.listdir(directory)]  # noqa: PTH208
    return []


def _address_of(text: str) -> str:
    """Return the address of an entry of /proc/net/tcp: ``0100007F:1F90`` is 127.0.0.1:8080."""
    address, _, port = text.partition(":")
    raw = bytes.fromhex(address)
    if sys.byteorder == "little":
        raw = b"".join(raw[at : at + 4][::-1] for at in range(0, len(raw), 4))
    family = socket.AF_INET if len(raw) == 4 else socket.AF_INET6
    return f"{socket.inet_ntop(family, raw)} port {int(port, 16)}"


def mapped_files(pid: int) -> Modules:
    """Return the files that a process maps, in order of their addresses."""
    modules: Modules = []
    for line in os.fsdecode(read_bytes(f"/proc/{pid}/maps")).splitlines():
        match = re.match(r"([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \S+ +(/.*)", line)
        if match is None:
            continue
        start, end, path = int(match[1], 16), int(match[2], 16), match[3]
        if modules and modules[-1][2] == path:
            modules[-1] = (modules[-1][0], end, path)
        else:
            modules.append((start, end, path))
    return modules


def place_of(address: int, modules: Modules) -> str:
    """Return ``path+0xoffset`` of an address, "" if no file is mapped there."""
    for start, end, path in modules:
        if start <= address < end:
            return f"{one_line(path)}+{address - start:#x}"
    return ""


class Stack:
    """Stack and code of the first thread of a process, which should not run meanwhile.

    Return addresses are found without debug information. A word on the stack is one if it follows a call
    instruction in mapped code, and if that call can have led to the next inner function: a direct call
    reaches code of its own file only, except through the table of linkage. Old words of earlier, deeper calls
    between the frames mostly fail this. ``files``: first and end addresses of the mapped files, in order.
    """

    def __init__(self, pid: int, files: list[tuple[int, int]]) -> None:
        self._memory = f"/proc/{pid}/mem"
        self._files = files
        self._firsts = [first for first, _ in files]

    def return_addresses(self, position: int, stack_pointer: int) -> list[int]:
        """Return the return addresses, innermost first; empty if the memory is unreadable.

        ``position``: address of the instruction that runs, or of the system call.
        """
        addresses: list[int] = []
        try:
            memory = os.open(self._memory, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return []
        try:
            inner = position
            for word in _words(memory, stack_pointer):
                if self._file(word) is not None and self._called(memory, word, inner):
                    addresses.append(word)
                    inner = word
                    if len(addresses) == _MOST_ADDRESSES:
                        break
        finally:
            os.close(memory)
        return addresses

    def _file(self, address: int) -> int | None:
        at = bisect_right(self._firsts, address) - 1
        return at if at >= 0 and address < self._files[at][1] else None

    def _called(self, memory: int, address: int, inner: int) -> bool:
        """Return whether the code before an address is a call that can have led to ``inner``."""
        before = _read(memory, address - _LONGEST_CALL, _LONGEST_CALL)
        if len(before) < _LONGEST_CALL:
            return False
        is_arm = platform.machine() == "aarch64"
        target = _arm_target(before, address) if is_arm else _x86_target(before, address)
        if target is None or target == 0:
            return target == 0
        stub = _read(memory, target, _STUB_BYTES)
        is_linkage = _is_arm_linkage(stub) if is_arm else b"\xff\x25" in stub
        return is_linkage or self._file(target) == self._file(inner)


def _x86_target(before: bytes, address: int) -> int | None:
    """Return the address that the call before an address calls: 0 if it is indirect, None without a call."""
    if before[-5] == 0xE8:
        return address + int.from_bytes(before[-4:], "little", signed=True)
    is_indirect = any(before[-size] == 0xFF and before[1 - size] >> 3 & 7 == 2 for size in _INDIRECT_SIZES)
    return 0 if is_indirect else None


def _arm_target(before: bytes, address: int) -> int | None:
    """Return the same for AArch64."""
    instruction = int.from_bytes(before[-4:], "little")
    if instruction & 0xFC000000 == 0x94000000:  # BL
        offset = (instruction & 0x03FFFFFF) << 2
        return address - 4 + (offset - (1 << 28) if offset >> 27 else offset)
    return 0 if instruction & 0xFFFFFC1F == 0xD63F0000 else None  # BLR


def _is_arm_linkage(stub: bytes) -> bool:
    return any(
        int.from_bytes(stub[at : at + 4], "little") & 0x9F00001F == 0x90000010 for at in (0, 4)
    )  # ADRP x16


def _words(memory: int, stack_pointer: int) -> list[int]:
    """Return the words from the stack pointer upwards, to the end of the stack at most."""
    size, data = _MOST_STACK_BYTES, b""
    while size >= 4096 and not (data := _read(memory, stack_pointer & ~7, size)):
        size //= 2
    return list(memoryview(data[: len(data) // 8 * 8]).cast("Q"))


def _read(memory: int, at: int, size: int) -> bytes:
    try:
        return os.pread(memory, size, at)
    except (OSError, OverflowError):
        return b""

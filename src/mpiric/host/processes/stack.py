"""Return addresses on the stack of another process, found without debug information.

A word on the stack is a return address if it follows a call instruction in mapped code, and if that call can
have led to the next inner function: a direct call reaches code of its own file only, except through the
table of linkage. Old words of earlier, deeper calls between the frames mostly fail this.
"""

import os
import platform
from bisect import bisect_right

_MOST_BYTES = 1 << 20  # part of the stack that is read
_MOST_ADDRESSES = 256
_LONGEST_CALL = 7  # bytes of the longest call instruction
_INDIRECT_SIZES = (2, 3, 4, 6, 7)  # x86-64: FF /2 with its addressing forms
_STUB_BYTES = 12  # beginning of an entry of the table of linkage


class Stack:
    """Stack and code of the first thread of a process, which should not run meanwhile.

    ``files``: first and end addresses of the mapped files, in order.
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
    size, data = _MOST_BYTES, b""
    while size >= 4096 and not (data := _read(memory, stack_pointer & ~7, size)):
        size //= 2
    return list(memoryview(data[: len(data) // 8 * 8]).cast("Q"))


def _read(memory: int, at: int, size: int) -> bytes:
    try:
        return os.pread(memory, size, at)
    except (OSError, OverflowError):
        return b""

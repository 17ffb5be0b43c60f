"""Messages between mpiric and its keeper over two pipes: a length and a marshalled value.

Both ends run the same interpreter and no other process has the pipes, so that marshal is safe. It needs no
import; json would take a third of the keeper's start.
"""

import marshal
import os
import select
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]


def send(descriptor: int, message: "Message") -> None:
    """Write a complete message. Raises BrokenPipeError if the other end is closed."""
    body = marshal.dumps(message)
    unsent = memoryview(len(body).to_bytes(4, "little") + body)
    while unsent:
        unsent = unsent[os.write(descriptor, unsent) :]


class Inbox:
    """Reader that splits a byte stream from a pipe into messages."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.closed = False  # the other end was closed
        self._bytes = b""

    def take(self) -> "Message | None":
        """Return the next complete message in the buffer, or None; does not read."""
        size = int.from_bytes(self._bytes[:4], "little")
        if len(self._bytes) < 4 or len(self._bytes) < 4 + size:
            return None
        body, self._bytes = self._bytes[4 : 4 + size], self._bytes[4 + size :]
        message: Message = marshal.loads(body)  # noqa: S302
        return message

    def read(self) -> None:
        """Read available bytes; call it when the pipe is readable."""
        piece = os.read(self.descriptor, 1 << 16)
        self._bytes += piece
        self.closed = not piece

    def wait(self) -> "Message | None":
        """Return the next message; wait for it. None if the other end was closed."""
        while (message := self.take()) is None and not self.closed:
            select.select([self.descriptor], [], [])
            self.read()
        return message

"""Messages between mpiric and its keeper: a length and a marshalled value, over two pipes.

Both ends are the same interpreter and the pipes belong to nobody else, so marshal is safe; it is
there without an import, where json costs a third of the keeper's start.
"""

import marshal
import os
import select
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]


def send(descriptor: int, message: "Message") -> None:
    """Write one message whole. Raises BrokenPipeError when the other end is gone."""
    body = marshal.dumps(message)
    rest = memoryview(len(body).to_bytes(4, "little") + body)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


class Inbox:
    """Cuts what arrives on a pipe into messages."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.closed = False  # the other end went away
        self._bytes = b""

    def take(self) -> "Message | None":
        """The next message that is wholly here, without reading."""
        size = int.from_bytes(self._bytes[:4], "little")
        if len(self._bytes) < 4 or len(self._bytes) < 4 + size:
            return None
        body, self._bytes = self._bytes[4 : 4 + size], self._bytes[4 + size :]
        message: Message = marshal.loads(body)  # noqa: S302
        return message

    def read(self) -> None:
        """Take in what is there; call it when the pipe is readable."""
        piece = os.read(self.descriptor, 1 << 16)
        self._bytes += piece
        self.closed = not piece

    def wait(self) -> "Message | None":
        """The next message, however long it takes; None when the other end went away."""
        while (message := self.take()) is None and not self.closed:
            select.select([self.descriptor], [], [])
            self.read()
        return message

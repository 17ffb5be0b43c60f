"""Text that cannot control a terminal: control characters become visible escapes."""

import re

# C0 except tab and line break, DEL, C1, marks that change the direction of text, line separators,
# and lone surrogates, which encode bytes that are not UTF-8.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAKS = {"\n": "\\n", "\t": "\\t"}


def is_printable(text: str) -> bool:
    """Return whether `printable` leaves the text as it is."""
    return CONTROL.search(text) is None


def printable(text: str, keep: str = "\n\t") -> str:
    """Return the text with visible escapes for all control characters except those in ``keep``."""
    escaped = CONTROL.sub(_escape, text.replace("\r\n", "\n"))
    for character, escape in _BREAKS.items():
        if character not in keep:
            escaped = escaped.replace(character, escape)
    return escaped


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00  # byte that Python's surrogateescape has encoded
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def printable_json(text: str) -> str:
    """Escape the control characters of JSON text as JSON escapes; the values do not change."""
    return CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)

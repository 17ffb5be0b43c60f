"""Findings on the user's ROMIO hint file: content that the library silently ignores."""

from collections.abc import Iterator
from functools import partial

from mpiric.host.host import Host
from mpiric.host.packaged import finding_from
from mpiric.model.finding import Finding
from mpiric.model.situation import Situation

LONGEST_FILE = 4095  # bytes: ROMIO reads 4096 into a buffer of that size
_finding = partial(finding_from, "knobs/_inherited")


def hint_file_findings(situation: Situation, host: Host) -> Iterator[Finding]:
    """Yield findings on the file that ROMIO_HINTS names."""
    path = situation.inherited.get("ROMIO_HINTS", "")
    if not path:
        return
    text = host.read_text(path)
    if text is None:
        yield _finding("hint-file-missing", path=path)
        return
    if len(text.encode()) > LONGEST_FILE:
        yield _finding("hint-file-cut", path=path, bytes=len(text.encode()))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if wrong := [line for line in lines if len(line.split()) != 2]:
        yield _finding("hint-file-lines", path=path, line=repr(wrong[0]))

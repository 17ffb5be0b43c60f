"""Search paths in ELF files, changed so that packed libraries are found first.

A DT_RPATH precedes LD_LIBRARY_PATH and would lead to directories of the build machine; a DT_RUNPATH follows
it. They differ only in the number of their tag (gABI, "Dynamic Section").
"""

import struct
from pathlib import Path

from mpiric.host.facts.elf import read_rpath_tags
from mpiric.host.host import Host
from mpiric.model.pack import Content

_DT_RUNPATH = 29
_RELATIVE = ("$ORIGIN", "${ORIGIN}")


def loosened(content: Content, host: Host) -> Content:
    """Return the file with DT_RPATH changed to DT_RUNPATH, if it is effective and names fixed directories."""
    elf = host.elf(content.source) if content.source and content.data is None else None
    if elf is None or all(path.startswith(_RELATIVE) for path in elf.fixed_path):
        return content
    data = bytearray(Path(content.source).read_bytes())
    for offset in read_rpath_tags(content.source):
        struct.pack_into("<I", data, offset, _DT_RUNPATH)  # low half of the tag in the processor's byte order
    return Content(content.name, content.source, content.kind, bytes(data), required=content.required)

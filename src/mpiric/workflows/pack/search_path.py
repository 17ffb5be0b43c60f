"""Search paths written into ELF files, loosened so that what is packed is found first.

A DT_RPATH goes before LD_LIBRARY_PATH and would lead to directories of the machine that built the file; a
DT_RUNPATH comes after it. The two differ in the number of their tag alone (gABI, "Dynamic Section").
"""

import struct
from pathlib import Path

from mpiric.host.facts.elf import read_rpath_tags
from mpiric.host.host import Host
from mpiric.model.pack import Content

_DT_RUNPATH = 29
_RELATIVE = ("$ORIGIN", "${ORIGIN}")


def loosened(content: Content, host: Host) -> Content:
    """The file with its DT_RPATH made a DT_RUNPATH, where one is in force that leads to fixed directories."""
    elf = host.elf(content.source) if content.source and content.data is None else None
    if elf is None or all(path.startswith(_RELATIVE) for path in elf.fixed_path):
        return content
    data = bytearray(Path(content.source).read_bytes())
    for offset in read_rpath_tags(content.source):
        struct.pack_into(
            "<I", data, offset, _DT_RUNPATH
        )  # the low half of the tag: the processors' byte order
    return Content(content.name, content.source, content.kind, bytes(data), required=content.required)

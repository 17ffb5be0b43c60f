"""CPU features that the code of a variant requires, a subset of the features that its compiler may use.

A compiler told ``-march=skylake-avx512`` may use protection keys, told ``znver2`` it may use ``mwaitx``. It
does neither unasked, and hypervisors hide both: a variant that needed them would never run there.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from mpiric.build.targets import features
from mpiric.host.toolchain import Toolchain

_UNKNOWN = re.escape("(bad)")  # instruction unknown to objdump, which may need any feature
_PROOF = "disassembled to the end"


def really_needed(
    code: Path, allowed: Sequence[str], machine: str, objdump: str, toolchain: Toolchain
) -> tuple[str, ...]:
    """Return ``allowed`` without features whose distinct instructions do not occur in the object."""
    known_features = features(machine) if allowed else {}
    spelled = {
        name: known_features[name].instructions for name in allowed if known_features[name].instructions
    }
    if not spelled:
        return tuple(allowed)
    pattern = "|".join([*spelled.values(), _UNKNOWN, _PROOF])
    # Only matches are passed on: the disassembly of a large program is hundreds of times larger than its
    # code.
    script = '{ LC_ALL=C "$1" -d --no-show-raw-insn "$2" && echo "$4"; } | grep -owE -e "$3" | sort -u'
    done = toolchain.run(["sh", "-c", script, "sh", objdump, str(code), pattern, _PROOF])
    hits = set(done.printed.splitlines())
    if _PROOF not in hits or "(bad)" in hits:
        return tuple(allowed)
    return tuple(
        name
        for name in allowed
        if name not in spelled or any(re.fullmatch(spelled[name], hit) for hit in hits)
    )

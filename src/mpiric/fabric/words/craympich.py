"""Cray MPICH: ``MPICH_OFI_VERBOSE`` and ``MPICH_OFI_NIC_VERBOSE`` (intro_mpi(3)) print provider and adapters.

The manual promises that provider and adapters are named and not how: what is looked for are these names.
"""

import re

from mpiric.model.fabric import PairClass, Path, Words

IMPLEMENTATIONS = ("craympich",)
ASK = {"MPICH_OFI_VERBOSE": "1", "MPICH_OFI_NIC_VERBOSE": "1"}

_PROVIDER = re.compile(
    r"\bprovider(?: name)?\s*[:= ]\s*'?(cxi|verbs(?:;ofi_rxm)?|tcp(?:;ofi_rxm)?|psm2|efa)\b", re.I
)
_ADAPTER = re.compile(r"\b(cxi\d+|hsn\d+|mlx5_\d+)\b")


def recognise(text: str) -> Words:
    """Provider and adapters."""
    lines = "\n".join(line for line in text.splitlines() if "PE " in line or "MPICH" in line or "OFI" in line)
    provider, adapters = _PROVIDER.search(lines), tuple(dict.fromkeys(_ADAPTER.findall(lines)))
    if not provider and not adapters:
        return Words()
    name = provider[1] if provider else "cxi" if adapters[0].startswith("cxi") else ""
    return Words("ch4, netmod ofi", {PairClass.OTHER_NODE: Path(name, adapters)}, (), name)

"""Sets of hardware threads as launchers, Slurm and people write them."""

from collections.abc import Iterable


def pu_list(pus: Iterable[int]) -> str:
    """{0, 1, 2, 8} → ``"0-2,8"``."""
    runs: list[list[int]] = []
    for pu in sorted(pus):
        if runs and pu == runs[-1][1] + 1:
            runs[-1][1] = pu
        else:
            runs.append([pu, pu])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def pu_mask(pus: Iterable[int]) -> str:
    """{0, 4} → ``"0x11"``: one hexadecimal number, however wide."""
    return hex(sum(1 << pu for pu in set(pus)))


def parse_pu_list(text: str) -> frozenset[int]:
    """``0-2,5`` → {0, 1, 2, 5}; what cannot be read is left out."""
    cpus: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdigit() and (last or first).isdigit():
            cpus.update(range(int(first), min(int(last or first), int(first) + 65536) + 1))
    return frozenset(cpus)

"""Sets of hardware threads as Linux and hwloc write them."""


def parse_list(text: str) -> tuple[int, ...]:
    """``"0-3,8,10-11"`` → (0, 1, 2, 3, 8, 10, 11); what is no number is left out."""
    found: list[int] = []
    for part in text.strip().split(","):
        low, _, high = part.partition("-")
        if low.isdigit() and (not high or high.isdigit()):
            found += range(int(low), int(high or low) + 1)
    return tuple(sorted(set(found)))


def parse_mask(text: str) -> frozenset[int]:
    """Hwloc's bitmaps: ``"0x0000000f,,0x1"`` → {0, 64, 65, 66, 67}, 32 bits a word, highest first."""
    bits: set[int] = set()
    for position, word in enumerate(reversed(text.split(","))):
        value = int(word, 16) if word not in {"", "0xf...f"} else 0
        bits.update(position * 32 + bit for bit in range(value.bit_length()) if value >> bit & 1)
    return frozenset(bits)


def format_list(pus: tuple[int, ...]) -> str:
    """(0, 1, 2, 8) → ``"0-2,8"``."""
    runs: list[list[int]] = []
    for pu in sorted(pus):
        if runs and pu == runs[-1][1] + 1:
            runs[-1][1] = pu
        else:
            runs.append([pu, pu])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)

"""Checksums as packaging systems write them."""

_DIGITS = "0123456789abcdfghijklmnpqrsvwxyz"  # without e, o, t and u


def base32(hexadecimal: str) -> str:
    """A digest as Nix and Guix write it: five bits a digit, of a little-endian number, the highest first."""
    number = int.from_bytes(bytes.fromhex(hexadecimal), "little")
    count = -(-len(hexadecimal) * 4 // 5)
    return "".join(_DIGITS[number >> (5 * place) & 31] for place in reversed(range(count)))

"""Formats of times, sizes and shares for output."""


def seconds(value: float) -> str:
    """Return a time with three digits in the unit that fits: ``1.53 s``, ``12.4 ms``, ``830 ns``."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(value) >= scale * 0.9995:
            return (
                f"{value / scale:.3g} {unit}" if abs(value) < 1000 * scale else f"{value / scale:,.0f} {unit}"
            )
    return f"{value / 1e-9:.3g} ns" if value else "0"


def size(value: float) -> str:
    """Return a size with a binary unit: ``512 B``, ``1.5 KiB``, ``23.5 GiB``."""
    units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while abs(value) >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{value:.3g} {units[0]}" if abs(value) < 1000 else f"{value:.0f} {units[0]}"


def share(value: float) -> str:
    """Return a share as a percentage: ``34 %``, ``3.4 %``, ``0.34 %``, and ``< 0.01 %`` below that."""
    if 0 < value < 1e-4:
        return "< 0.01 %"
    return f"{100 * value:.0f} %" if abs(value) >= 0.0995 else f"{100 * value:.2g} %"

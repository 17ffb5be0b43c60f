"""Figure of a scaling study, as SVG and as PDF: speedup over cores, with the ideal line.

The figure is a list of shapes, which two short functions write in either format.
"""

from collections.abc import Iterator
from math import log2

from markupsafe import escape

from mpiric.model.dataclass import dataclass
from mpiric.model.scaling import Scaling

WIDTH, HEIGHT = 480.0, 320.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 14.0, 18.0, 44.0
_INK, _GREY, _BLUE, _ORANGE = "#1c2530", "#9aa5b1", "#2f6ba6", "#c8553b"
_CAP = 3.0  # half width of the caps of an interval
_DOT = 3.5


@dataclass(frozen=True)
class Line:
    """Straight line."""

    x1: float
    y1: float
    x2: float
    y2: float
    colour: str = _INK
    is_dashed: bool = False


@dataclass(frozen=True)
class Dot:
    """Filled circle, or a ring."""

    x: float
    y: float
    colour: str
    is_filled: bool = True


@dataclass(frozen=True)
class Label:
    """Text; ``anchor`` is the share of its width to the left of ``x``."""

    x: float
    y: float
    text: str
    anchor: float = 0.5


Shape = Line | Dot | Label


def scaling_shapes(scaling: Scaling) -> list[Shape]:
    """Return the figure; y grows downwards. Both axes are logarithmic."""
    return list(_shapes(scaling))


def _shapes(scaling: Scaling) -> Iterator[Shape]:
    results = scaling.results
    first = results[0]
    ideal = [(r.size.cores, r.size.cores / first.size.cores) for r in results]
    predicted = [
        (p.size.cores, _speedups(scaling, p.size.cores, p.time_s.value, p.time_s.low, p.time_s.high))
        for p in scaling.predictions
    ]
    ideal += [(cores, cores / first.size.cores) for cores, _ in predicted]
    low_x, high_x = first.size.cores, max(cores for cores, _ in ideal)
    speedups = [r.speedup.value for r in results] + [speedup for _, (speedup, _, _) in predicted]
    low_y, high_y = min(1.0, *speedups), max(high_x / low_x, *speedups)

    def x_of(cores: float) -> float:
        span = log2(high_x / low_x) or 1.0
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * log2(cores / low_x) / span

    def y_of(speedup: float) -> float:
        span = log2(high_y / low_y) or 1.0
        share = log2(min(max(speedup, low_y), high_y) / low_y) / span
        return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * share

    yield Line(_LEFT, HEIGHT - _BOTTOM, WIDTH - _RIGHT, HEIGHT - _BOTTOM)
    yield Line(_LEFT, _TOP, _LEFT, HEIGHT - _BOTTOM)
    for cores in sorted({cores for cores, _ in ideal}):
        yield Label(x_of(cores), HEIGHT - _BOTTOM + 15, str(cores))
    tick = 2.0 ** int(log2(low_y))
    while tick <= high_y * 1.001:
        yield Label(_LEFT - 6, y_of(tick) + 4, f"{tick:g}", anchor=1.0)
        tick *= 2
    yield Label((WIDTH + _LEFT) / 2, HEIGHT - 8, "cores")
    name = "scaled speedup" if scaling.is_weak else f"speedup of a {scaling.unit}"
    yield Label(_LEFT + 6, _TOP - 5, f"{name} against {first.size}; dashed: ideal", anchor=0.0)
    yield Line(x_of(low_x), y_of(1.0), x_of(high_x), y_of(high_x / low_x), _GREY, is_dashed=True)
    before = None
    for result in results:
        speedup = result.speedup
        at = x_of(result.size.cores), y_of(speedup.value)
        yield from _bar(at[0], y_of(speedup.low), y_of(speedup.high), _BLUE)
        if before is not None and before[1] == result.size.threads:
            yield Line(*before[0], *at, _BLUE)
        yield Dot(*at, _BLUE)
        before = at, result.size.threads
    for cores, (value, low, high) in predicted:
        yield from _bar(x_of(cores), y_of(low), y_of(high), _ORANGE)
        yield Dot(x_of(cores), y_of(value), _ORANGE, is_filled=False)


def _bar(x: float, low: float, high: float, colour: str) -> Iterator[Line]:
    """Yield the bar of an interval with its caps."""
    yield Line(x, low, x, high, colour)
    yield Line(x - _CAP, low, x + _CAP, low, colour)
    yield Line(x - _CAP, high, x + _CAP, high, colour)


def _speedups(scaling: Scaling, cores: int, *times_s: float) -> tuple[float, float, float]:
    """Return speedups from a predicted time and the limits of its interval."""
    first = scaling.results[0]
    factor = cores / first.size.cores if scaling.is_weak else 1.0
    value, low, high = (first.time_s.value / time_s * factor for time_s in times_s)
    return value, high, low


def as_svg(shapes: list[Shape]) -> str:
    """Return the figure as SVG."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" '
        f'width="{WIDTH:g}" height="{HEIGHT:g}" role="img" '
        'font-family="Helvetica, sans-serif" font-size="11">',
        f'<rect width="{WIDTH:g}" height="{HEIGHT:g}" fill="#ffffff"/>',
    ]
    for shape in shapes:
        if isinstance(shape, Line):
            dash = ' stroke-dasharray="4 3"' if shape.is_dashed else ""
            ends = f'x1="{shape.x1:.1f}" y1="{shape.y1:.1f}" x2="{shape.x2:.1f}" y2="{shape.y2:.1f}"'
            lines.append(f'<line {ends} stroke="{shape.colour}"{dash}/>')
        elif isinstance(shape, Dot):
            fill = shape.colour if shape.is_filled else "#ffffff"
            at = f'cx="{shape.x:.1f}" cy="{shape.y:.1f}" r="{_DOT}"'
            lines.append(f'<circle {at} fill="{fill}" stroke="{shape.colour}"/>')
        else:
            anchor = {0.0: "start", 0.5: "middle", 1.0: "end"}[shape.anchor]
            at = f'x="{shape.x:.1f}" y="{shape.y:.1f}" text-anchor="{anchor}"'
            lines.append(f'<text {at} fill="{_INK}">{escape(shape.text)}</text>')
    return "\n".join([*lines, "</svg>\n"])


def as_pdf(shapes: list[Shape]) -> bytes:
    """Return the figure as a PDF of one page with the standard font Helvetica (ISO 32000-1, 9.6.2.2)."""
    content = "\n".join(map(_pdf_shape, shapes)).encode("cp1252", "replace")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Contents 5 0 R "
        b"/Resources << /Font << /F1 4 0 R >> >> >>" % (WIDTH, HEIGHT),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
    ]
    document, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(document))
        document += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    end = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    count = len(objects) + 1
    head = b"xref\n0 %d\n0000000000 65535 f \n" % count
    return document + head + table + end % (count, len(document))


def _pdf_shape(shape: Shape) -> str:
    """Return the operators of a shape; y grows upwards in a PDF."""
    if isinstance(shape, Line):
        dash = "[4 3] 0 d" if shape.is_dashed else "[] 0 d"
        ends = f"{shape.x1:.1f} {HEIGHT - shape.y1:.1f} m {shape.x2:.1f} {HEIGHT - shape.y2:.1f} l S"
        return f"{_rgb(shape.colour)} RG {dash} {ends}"
    if isinstance(shape, Dot):
        # A line of no length with round caps is a disc.
        x, y = f"{shape.x:.1f}", f"{HEIGHT - shape.y:.1f}"
        disc = f"q 1 J [] 0 d {_rgb(shape.colour)} RG {2 * _DOT:g} w {x} {y} m {x} {y} l S"
        hole = "" if shape.is_filled else f" 1 1 1 RG {2 * _DOT - 2:g} w {x} {y} m {x} {y} l S"
        return f"{disc}{hole} Q"
    text = shape.text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    left_x = shape.x - shape.anchor * 5.5 * len(
        shape.text
    )  # mean width of a letter of Helvetica in 11 points
    return f"BT /F1 11 Tf {_rgb(_INK)} rg {left_x:.1f} {HEIGHT - shape.y:.1f} Td ({text}) Tj ET"


def _rgb(colour: str) -> str:
    return " ".join(f"{int(colour[at : at + 2], 16) / 255:.3f}" for at in (1, 3, 5))

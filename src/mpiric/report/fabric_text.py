"""Fabric → text for a terminal."""

from collections.abc import Iterator

from mpiric.model.fabric import Fabric, PairReport


def fabric_text(fabric: Fabric) -> str:
    """Print each class of pairs with all its routes, then what is wrong, then what to set."""
    lines = [f"{fabric.library} on {', '.join(fabric.hosts)}"]
    names = fabric.host_names
    if names.network:
        also = "".join(f"; {next(iter(to.values()))} is on {name}" for name, to in names.others.items())
        lines.append(f"hosts are named on {names.network}{also}")
    for pair in fabric.pairs:
        lines += ["", *_pair(pair)]
    for warning in fabric.warnings:
        lines += ["", f"warning: {warning.says}", f"  {warning.evidence}", f"  fix: {warning.fix}"]
    lines += ["", *_recommended(fabric)]
    return "\n".join(lines)


def _pair(pair: PairReport) -> Iterator[str]:
    devices = f" over {', '.join(pair.devices)}" if pair.devices else ""
    yield f"{pair.pair_class.value}: {pair.transport}{devices} ({pair.layer or 'the library says nothing'})"
    yield f"  seen: {pair.seen}"
    for sentence in pair.why:
        yield f"  why: {sentence}"
    if pair.possible:
        yield f"  possible: {pair.possible}"
    yield f"  {'as it is':50} {pair.latency_us:10.2f} µs {pair.bandwidth_mb_s:10.1f} MB/s"
    for each in pair.alternatives:
        if each.refused:
            yield f"  {each.configuration!s:50} {each.refused[:100]}"
        else:
            yield f"  {each.configuration!s:50} {each.latency_us:10.2f} µs {each.bandwidth_mb_s:10.1f} MB/s"
    better = [winner for winner in pair.winners if winner.configuration]
    for winner in better:
        yield f"  fastest for {winner.size_bytes} bytes: {winner.configuration}, {winner.gain:.2f}×"


def _recommended(fabric: Fabric) -> Iterator[str]:
    if not fabric.recommended:
        yield "Nothing else was faster in every round: leave it as it is."
        return
    least, most = fabric.spread
    yield f"Recommended: {fabric.recommended}, {fabric.gain:.2f}× ({least:.2f} to {most:.2f} in its rounds)"
    yield f"  {fabric.launch.shell_line()}"

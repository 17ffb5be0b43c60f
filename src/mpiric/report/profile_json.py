"""Profile as one JSON object for scripts."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from mpiric.model.errors import Finding
from mpiric.model.profile import Advice, FileTotal, NodeTopology, Profile


def profile_json(profile: Profile) -> dict[str, Any]:
    """Return the profile as JSON. Keys may be added but not renamed (docs/guides/profile.md)."""
    rows = [
        {
            name: [round(v, 4) for v in value] if isinstance(value, tuple) else value
            for name, value in asdict(row).items()
        }
        for row in profile.timeline.rows
    ]
    return {
        "command": profile.command,
        "mpi": profile.mpi,
        "library": dict(profile.library),
        "ranks": profile.world_size,
        "wall_s": profile.wall_s,
        "run_s": profile.wall_s + profile.numbers.get("start_up_s", 0.0),
        "mpi_share": profile.mpi_share,
        "efficiencies": asdict(profile.efficiencies),
        "functions": [asdict(use) for use in profile.functions],
        "communicators": [{"name": use.pop("label"), **use} for use in map(asdict, profile.communicators)],
        "sizes": [asdict(use) for use in profile.sizes],
        "p2p": [[m.source, m.destination, m.messages, m.bytes] for m in profile.p2p],
        "one_sided": [[m.source, m.destination, m.messages, m.bytes] for m in profile.one_sided],
        "collective": [asdict(use) for use in profile.collectives],
        "regions": [asdict(use) for use in profile.regions],
        "timeline": {"span_s": profile.timeline.span_s, "rows": rows},
        "by_rank": [asdict(use) | {"regions": dict(use.regions)} for use in profile.ranks],
        "nodes": list(profile.nodes),
        "node_shape": _shape(profile.shape) if profile.shape else None,
        "node_traffic": [[m.source, m.destination, m.messages, m.bytes] for m in profile.node_traffic],
        "io": _io(profile),
        "sites": [asdict(use) for use in profile.sites],
        "numbers": dict(profile.numbers),
        "findings": [advice_json(advice) for advice in profile.advice],
        "notes": list(profile.notes),
    }


def finding_json(finding: Finding) -> dict[str, Any]:
    """Return a finding of any part of mpiric as JSON."""
    return {"id": finding.id, "says": finding.says, "evidence": finding.evidence, "fix": finding.fix}


def advice_json(advice: Advice) -> dict[str, Any]:
    """Return a finding of a record with its possible gain as JSON."""
    return finding_json(advice.finding) | {
        "gain_share": advice.gain_share,
        "expected_share": advice.expected_share,
        "basis": advice.basis,
        "commands": list(advice.commands),
        "knobs": list(advice.knobs),
        "source": advice.source,
        "effect_of": list(advice.effect_of),
        "explains_run": advice.explains_run,
    }


def advice_from_json(data: Mapping[str, Any]) -> Advice:
    """Return the advice of a report. Raises KeyError, TypeError or ValueError if it is malformed."""
    return Advice(
        Finding(*(str(data[key]) for key in ("id", "says", "evidence", "fix"))),
        float(data["gain_share"]),
        expected_share=None,
        basis="",
        knobs=(),
        commands=tuple(map(str, data["commands"])),
        source=str(data["source"]),
        explains_run=bool(data.get("explains_run")),
    )


def _shape(shape: NodeTopology) -> dict[str, Any]:
    cores = [[core.index, core.package, core.numa_node, list(core.pus)] for core in shape.cores]
    return {"host": shape.host, "cores": cores}


def _io(profile: Profile) -> dict[str, Any]:
    def total(name: str, files: list[FileTotal]) -> int:
        return int(sum(getattr(file, name) for file in files))

    real = [file for file in profile.files if file.interface != "stream"]
    streams = [file for file in profile.files if file.interface == "stream"]
    names = (
        "opens",
        "reads",
        "writes",
        "bytes_read",
        "bytes_written",
        "metadata",
        "small",
        "unaligned",
        "sequential",
    )
    return {
        **{name: total(name, real) for name in names},
        "time_s": sum(file.time_s for file in profile.files),
        "share": profile.numbers["io_share"],
        "printed_bytes": total("bytes_written", streams),
        "files": [asdict(file) for file in profile.files],
    }

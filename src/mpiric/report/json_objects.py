"""Result of a tune, and profile, as JSON objects for scripts."""

from collections.abc import Mapping
from dataclasses import asdict
from math import isfinite
from typing import Any

from mpiric.host.command_log import masked
from mpiric.model.errors import Finding
from mpiric.model.profile import Advice, FileTotal, NodeTopology, Profile
from mpiric.model.tuned import KnobChange, Tuned
from mpiric.report.tuned_parts import split_json, times_json


def tuned_json(tuned: Tuned) -> dict[str, Any]:
    """Return the result as JSON. Keys may be added but not renamed (docs/reference/tune-json.md)."""
    evidence = tuned.evidence
    command: dict[str, Any] | None = None
    if tuned.launch is not None:
        command = {
            "argv": list(masked(tuned.launch.argv)),
            "env": dict(tuned.launch.environment),
            "unset": list(tuned.launch.unset),
        }
    return {
        "verdict": tuned.verdict.value,
        # Without changes, the answer is the original.
        "ratio": evidence.ratio if evidence else 1.0,
        "ratio_interval": _interval(evidence.low, evidence.high) if evidence else [1.0, 1.0],
        "confidence": evidence.confidence if evidence else None,
        "ratio_ci95": _interval(*evidence.ci95) if evidence else [1.0, 1.0],
        "objective": tuned.objective,
        "original": vars(tuned.original),
        "tuned": vars(tuned.tuned or tuned.original),
        "configuration": evidence.configuration.as_dict() if evidence else {},
        "changes": [
            {**vars(change), "share": _share(change), **_evidence(change)} for change in tuned.changes
        ],
        "rejected": [
            {"configuration": entry.configuration.as_dict(), "reason": entry.reason}
            for entry in tuned.rejected
        ],
        "tried": list(tuned.tried),
        "unjudged": list(tuned.unjudged),
        "not_reached": list(tuned.not_reached),
        "nothing_tried": tuned.nothing_tried or None,
        "cannot_matter": [vars(setting) for setting in tuned.cannot_matter],
        "findings": [vars(finding) for finding in tuned.findings],
        "runs": tuned.runs,
        "core_hours": tuned.core_hours,
        "elapsed_s": tuned.elapsed_s,
        "around_runs_s": tuned.around_runs_s,
        "recipe": tuned.recipe or None,
        "store": tuned.store,
        "command": command,
        "command_why": tuned.launch_why or None,
        "prepare": [list(command) for command in tuned.launch.prepare] if tuned.launch else [],
        "hints": {
            pattern: {key: list(pair) for key, pair in hints.items()}
            for pattern, hints in tuned.hints.items()
        },
        "io": vars(tuned.io) if tuned.io else None,
        "class": tuned.files_effect.value,
        "mpi": tuned.mpi.label,
        "interrupted": tuned.interrupted,
        "best_so_far": _best_so_far(tuned),
        "notes": list(tuned.notes),
        "exports": list(tuned.exports),
        "times": times_json(tuned.times),
        "split": split_json(tuned.split),
        "scope": tuned.scope,
        "marks": _marks(tuned),
        "marks_why": tuned.marks_why or None,
        "forecast_s": list(tuned.forecast_s) if tuned.forecast_s else None,
        "whole_check": tuned.whole.verdict.value if tuned.whole else None,
        "whole_check_why": (tuned.whole.why or None) if tuned.whole else None,
        "stopped_trials": tuned.stopped_trials,
    }


def _marks(tuned: Tuned) -> dict[str, Any] | None:
    if tuned.marks is None:
        return None
    pair = tuned.marks.pair
    return {
        "function": pair.key.function,
        "place": pair.key.place or None,
        "communicator": {"ranks": pair.key.ranks, "birth": pair.key.birth} if pair.key.ranks else None,
        "first": pair.first,
        "last": pair.last,
        "on_rank_0_alone": pair.on_rank_0_alone,
        "why": tuned.marks.why,
        "window_s": [tuned.marks.first_s, tuned.marks.last_s],
    }


def _share(change: KnobChange) -> dict[str, Any] | None:
    share = change.share
    if share is None:
        return None
    return {
        "ratio": share.ratio,
        "interval": _interval(share.low, share.high),
        "pairs": share.runs,
        "shown": share.shown,
        "likely": share.is_likely,
        "estimated": share.is_estimated,
        "with": [knob for knob in share.knobs if knob != change.knob],
        "why": share.why,
    }


def _evidence(change: KnobChange) -> dict[str, Any]:
    """Return the values before and after that are evidence for a change."""
    moves = [
        {"what": effect.what, "before": effect.before, "after": effect.after} for effect in change.afterwards
    ]
    return {"noticed": change.noticed, "afterwards": moves}


def _best_so_far(tuned: Tuned) -> dict[str, Any] | None:
    best = tuned.best_so_far
    if best is None:
        return None
    return {
        "configuration": best.configuration.as_dict(),
        "expected_ratio": best.expected_ratio,
        "pairs": best.pairs,
        "wins": best.wins,
        "missing_pairs": best.missing_pairs,
        "missing_s": best.missing_s,
        "command": {"argv": list(masked(best.launch.argv)), "env": dict(best.launch.environment)},
    }


def _interval(low: float, high: float) -> list[float | None]:
    """Return an interval with null for infinity, which JSON does not have."""
    return [low, high if isfinite(high) else None]


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

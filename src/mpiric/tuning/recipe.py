"""Recipes as TOML files. The reader trusts nothing: a recipe may come from a stranger.

A recipe can only name knobs and values; whether a value is allowed is asked of ``check``, which the workflow
binds to the knob registry. No field of a recipe is ever used as a path, a command or a variable.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from pathlib import Path

import tomli_w

from mpiric.host.files import is_directory, read_bounded
from mpiric.host.packaged import parse_toml
from mpiric.host.secrets import masked
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.evidence import Evidence, Share, Verdict
from mpiric.model.knob import REMOVED
from mpiric.model.recipe import FORMAT, Fingerprint, Recipe
from mpiric.tuning.checked_table import CheckedTable
from mpiric.tuning.files import write_whole
from mpiric.tuning.policy import parse_flat
from mpiric.tuning.proof.confidence_sequence import median_interval
from mpiric.tuning.recipe_marks import read_proved_marks, read_whole_check, render_marks, whole_check_keys

SUFFIX = ".recipe.toml"
_LARGEST_BYTES = 1 << 20
_MOST_KNOBS = 200
_MOST_POLICY_LINES = 5000
_KNOB = re.compile(r"[a-z][a-z0-9_.-]{0,63}")
_SCOPES = ("steps", "forecast")
_HINT = "it was edited or damaged; tune again, or correct it by spec/formats/recipe.md"

Check = Callable[[str, str], str]  # (knob, value) → why it cannot be used here, "" when it can


def write_recipe(path: Path, recipe: Recipe) -> None:
    """Write a recipe completely or not at all."""
    write_whole(path, render_recipe(recipe), "name another directory with --output or --store")


def render_recipe(recipe: Recipe) -> str:
    """Render a recipe as the text of its file."""
    fingerprint = recipe.fingerprint
    document: dict[str, object] = {
        "mpiric_recipe": recipe.format,
        "name": recipe.name,
        "created": recipe.created,
        "mpiric_version": recipe.mpiric_version,
        "command": list(masked(recipe.command)),
        "checked_output": recipe.checked_output,
        "configuration": recipe.configuration.as_dict(),
        "reasons": dict(recipe.reasons),
        "fingerprint": {
            "machine": dict(fingerprint.machine),
            "mpi": dict(fingerprint.mpi),
            "program": dict(fingerprint.program),
        },
    }
    if recipe.scope:
        document["scope"] = recipe.scope
    if recipe.measured_in:
        document["measured_in"] = recipe.measured_in
    if recipe.whole is not None:
        document |= whole_check_keys(recipe.whole)
    if recipe.marks is not None:
        document["marks"] = render_marks(recipe.marks)
    if recipe.policy:
        document["policy"] = list(recipe.policy)
    if recipe.rank_order:
        document["rank_order"] = " ".join(map(str, recipe.rank_order))
    if recipe.evidence is not None:
        document["evidence"] = _render_evidence(recipe.evidence)
    return tomli_w.dumps(document)


def _render_evidence(evidence: Evidence) -> dict[str, object]:
    shares = {"shares": [_render_share(share) for share in evidence.shares]} if evidence.shares else {}
    stopped = {"stopped": list(evidence.stopped)} if evidence.stopped else {}
    return {
        "verdict": evidence.verdict.value,
        "ratio": evidence.ratio,
        "interval": [evidence.low, evidence.high],
        "confidence": evidence.confidence,
        "minimum_effect": evidence.minimum_effect,
        "stopped_because": evidence.stopped_because,
        "pairs": [list(pair) for pair in evidence.pairs],
        "failures": list(evidence.failures),
        **stopped,
        **shares,
    }


def _render_share(share: Share) -> dict[str, object]:
    return {
        "knobs": list(share.knobs),
        "ratio": share.ratio,
        "interval": [share.low, share.high],
        "runs": share.runs,
        "shown": share.shown,
        **({"likely": True} if share.is_likely else {}),
        **({"needed": True} if share.is_needed else {}),
        **({"estimated": True} if share.is_estimated else {}),
        "why": share.why,
    }


def read_recipe(path: Path, check: Check) -> Recipe:
    """Read and check a recipe. Raises MpiricError that names the file and the line or key."""
    data = read_bounded(path, "recipe", _LARGEST_BYTES, "`mpiric tune` writes recipes")
    return parse_recipe(data, str(path), check)


def parse_recipe(data: bytes, where: str, check: Check) -> Recipe:
    """Check and read the contents of a recipe's file; ``where`` is what errors call it."""
    try:
        document = parse_toml(data.decode())
    except (ValueError, RecursionError, OverflowError) as error:  # TOML and UTF-8 errors are ValueErrors
        reason = " ".join(str(error).split())[:200] or "nested too deeply"
        raise MpiricError(f"{where} is no recipe: {reason}", hint=_HINT) from error
    top = CheckedTable(document, where, "", _HINT)
    version = top.integer("mpiric_recipe", 1, 1_000_000)
    if version > FORMAT:
        raise MpiricError(
            f"{where} has recipe format {version}, this mpiric reads up to {FORMAT}",
            hint="update mpiric",
        )
    settings = top.table("configuration")
    recipe = Recipe(
        name=top.text("name"),
        configuration=_configuration(settings, check),
        removed=tuple(sorted(REMOVED & settings.text_map(most=_MOST_KNOBS).keys())),
        fingerprint=_fingerprint(top.table("fingerprint")),
        evidence=_evidence(top.table("evidence"), version) if top.has("evidence") else None,
        command=top.texts("command", most=10_000),
        created=top.text("created"),
        reasons=top.table("reasons").text_map() if top.has("reasons") else {},
        checked_output=top.word("checked_output", ("learned", "command", "none")),
        mpiric_version=top.text("mpiric_version", default=""),
        scope=top.word("scope", _SCOPES) if top.has("scope") else "",
        measured_in=top.text("measured_in", default=""),
        whole=read_whole_check(top),
        marks=read_proved_marks(top.table("marks")) if top.has("marks") else None,
        policy=_policy(top, where) if top.has("policy") else (),
        rank_order=_rank_order(top) if top.has("rank_order") else (),
        format=version,
    )
    top.nothing_else()
    return recipe


def _configuration(table: CheckedTable, check: Check) -> Configuration:
    named = table.text_map(most=_MOST_KNOBS)
    values = {knob: value for knob, value in named.items() if knob not in REMOVED}
    for knob, value in values.items():
        if not _KNOB.fullmatch(knob):
            raise table.error(knob, "is no name of a knob")
        if len(value) > 256:
            raise table.error(knob, "has a value longer than any knob's")
        if reason := check(knob, value):
            raise table.error(knob, reason)
    return Configuration.of(values)


def _policy(top: CheckedTable, where: str) -> tuple[str, ...]:
    """Read the policy, checked as any other: it can choose among known algorithms and do nothing else."""
    lines = top.texts("policy", most=_MOST_POLICY_LINES)
    parse_flat("\n".join(lines).encode(), f"{where}: 'policy'")
    return lines


def _rank_order(top: CheckedTable) -> tuple[int, ...]:
    """Read the slot of each rank, a permutation."""
    words = top.text("rank_order").split()
    slots = tuple(int(word) for word in words if word.isascii() and word.isdigit() and len(word) < 12)
    if len(slots) != len(words) or sorted(slots) != list(range(len(slots))):
        raise top.error("rank_order", "is no permutation of slots")
    return slots


def _fingerprint(table: CheckedTable) -> Fingerprint:
    parts = {name: table.table(name).text_map() for name in ("machine", "mpi", "program")}
    table.nothing_else()
    return Fingerprint(**parts)


def _evidence(table: CheckedTable, version: int) -> Evidence:
    low, high = table.numbers("interval", exactly=2)
    pairs, confidence = table.pairs("pairs", most=100_000), table.number("confidence")
    if version == 1 and 0 < confidence < 1 and all(original > 0 < tuned for original, tuned in pairs):
        # It was a 95 % interval beside a verdict at another confidence.
        low, high = median_interval([original / tuned for original, tuned in pairs], 1 - confidence)
    evidence = Evidence(
        configuration=Configuration(),
        verdict=Verdict(table.word("verdict", tuple(verdict.value for verdict in Verdict))),
        ratio=table.number("ratio"),
        low=low,
        high=high,
        pairs=pairs,
        confidence=confidence,
        minimum_effect=table.number("minimum_effect"),
        stopped_because=table.text("stopped_because", default=""),
        failures=table.texts("failures", most=1000) if table.has("failures") else (),
        stopped=table.integers("stopped", len(pairs)) if table.has("stopped") else (),
        shares=tuple(map(_share, table.tables("shares", _MOST_KNOBS))) if table.has("shares") else (),
    )
    table.nothing_else()
    if not (isfinite(evidence.ratio) and evidence.ratio > 0 and 0 <= evidence.low <= evidence.high):
        raise table.error("ratio", "and interval are no ratio of two times")
    return evidence


def _share(table: CheckedTable) -> Share:
    low, high = table.numbers("interval", exactly=2)
    share = Share(
        knobs=table.texts("knobs", most=_MOST_KNOBS),
        ratio=table.number("ratio"),
        low=low,
        high=high,
        runs=table.integer("runs", 0, 1_000_000),
        shown=table.truth("shown"),
        why=table.text("why", default=""),
        is_needed=table.truth("needed") if table.has("needed") else False,
        is_likely=table.truth("likely") if table.has("likely") else False,
        is_estimated=table.truth("estimated") if table.has("estimated") else False,
    )
    table.nothing_else()
    if not (share.ratio > 0 and 0 <= low <= high):
        raise table.error("ratio", "and interval are no ratio of two times")
    return share


def find_recipes(
    directories: Iterable[Path], check: Check, score: Callable[[Recipe], float | None]
) -> tuple[tuple[tuple[Path, Recipe], ...], tuple[MpiricError, ...]]:
    """Recipes of these directories, the best fitting first, and what was wrong with unreadable ones.

    ``score`` says how well a recipe fits (see `fits`), None when not at all. Of equals the newest is first.
    """
    found: list[tuple[float, str, Path, Recipe]] = []
    errors: list[MpiricError] = []
    for directory in directories:
        for path in sorted(directory.rglob(f"*{SUFFIX}")) if is_directory(directory) else ():
            try:
                recipe = read_recipe(path, check)
            except MpiricError as error:
                errors.append(error)
                continue
            value = score(recipe)
            if value is not None:
                found.append((value, recipe.created, path, recipe))
    found.sort(key=lambda entry: (entry[0], entry[1], str(entry[2])), reverse=True)
    return tuple((path, recipe) for _, _, path, recipe in found), tuple(errors)


def file_name(program: str, extra: Mapping[str, str] | None = None) -> str:
    """A file name for a recipe of this program: letters, digits and ``_.-`` only."""
    words = [program, *(f"{key}{value}" for key, value in (extra or {}).items())]
    stem = "-".join(re.sub(r"[^A-Za-z0-9_.]+", "-", word).strip("-.") for word in words)
    return (stem[:100].strip("-.") or "program") + SUFFIX

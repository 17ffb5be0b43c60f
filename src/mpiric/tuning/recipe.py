"""Recipes as TOML files. The reader checks everything: a recipe may come from an untrusted source.

A recipe can only name knobs and values. ``check``, which the workflow binds to the knob registry, decides
whether a value is allowed. No field of a recipe is ever used as a path, a command or a variable.
"""

import re
from collections.abc import Callable
from math import isfinite
from pathlib import Path

import tomli_w

from mpiric.host.command_log import masked
from mpiric.host.files import is_directory, read_bounded
from mpiric.host.owned_files import write_text
from mpiric.host.packaged import parse_toml
from mpiric.model.configuration import PARAMETER, Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.evidence import (
    FORMAT,
    Evidence,
    Fingerprint,
    ProvedMarks,
    Recipe,
    Share,
    Verdict,
    WholeCheck,
    WholeVerdict,
)
from mpiric.model.json_text import CheckedTable
from mpiric.model.knob import REMOVED
from mpiric.model.pace import read_mark_option
from mpiric.statistics.confidence_sequence import median_interval
from mpiric.tuning.policy_files import parse_flat

SUFFIX = ".recipe.toml"
_LARGEST_BYTES = 1 << 20
_MOST_KNOBS = 200
_KNOB = re.compile(r"[a-z][a-z0-9_.-]{0,63}")
_SCOPES = ("steps", "forecast")
MOST_INPUTS = 64
_LONGEST_WHY = 500
_CHECK_LINES = re.compile(rb"^whole_check(_why)? *=.*\n", re.MULTILINE)
_FIRST_TABLE = re.compile(rb"^\[", re.MULTILINE)
_HINT = "it was edited or damaged; restore it, or tune again"

Check = Callable[[str, str], str]  # (knob, value) → why it cannot be used here, "" if it can


def write_recipe(path: Path, recipe: Recipe) -> None:
    """Write a recipe atomically."""
    write_text(path, render_recipe(recipe), "name another directory with --output or --store")


def save_copy(output: Path, recipe: Recipe) -> Path:
    """Write a recipe to the user's file, or into the user's directory by its name; return its path."""
    path = output / file_name(recipe.name) if is_directory(output) else output
    write_recipe(path, recipe)
    return path


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
        document |= _whole_check_keys(recipe.whole)
    if recipe.marks is not None:
        document["marks"] = {
            "mark": recipe.marks.pair.option,
            "on_rank_0_alone": recipe.marks.pair.on_rank_0_alone,
            "start_s": list(recipe.marks.start_s),
            "per_mark_s": list(recipe.marks.per_mark_s),
            "prints_nan": recipe.marks.prints_nan,
            **({"inputs": list(recipe.marks.inputs)} if recipe.marks.inputs else {}),
        }
    if recipe.policy:
        document["policy"] = list(recipe.policy)
    if recipe.rank_order:
        document["rank_order"] = " ".join(map(str, recipe.rank_order))
    if recipe.parameters:
        document["parameters"] = dict(recipe.parameters)
    if recipe.evidence is not None:
        document["evidence"] = _render_evidence(recipe.evidence)
    return tomli_w.dumps(document)


def _render_evidence(evidence: Evidence) -> dict[str, object]:
    shares = [
        {
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
        for share in evidence.shares
    ]
    return {
        "verdict": evidence.verdict.value,
        "ratio": evidence.ratio,
        "interval": [evidence.low, evidence.high],
        "confidence": evidence.confidence,
        "minimum_effect": evidence.minimum_effect,
        "stopped_because": evidence.stopped_because,
        "pairs": [list(pair) for pair in evidence.pairs],
        "failures": list(evidence.failures),
        **({"stopped": list(evidence.stopped)} if evidence.stopped else {}),
        **({"shares": shares} if shares else {}),
    }


def read_recipe(path: Path, check: Check) -> Recipe:
    """Read and check a recipe. Raises MpiricError that names the file and the line or key."""
    data = read_bounded(path, "recipe", _LARGEST_BYTES, "`mpiric tune` writes recipes")
    return parse_recipe(data, str(path), check)


def parse_recipe(data: bytes, where: str, check: Check) -> Recipe:
    """Parse and check the content of a recipe; ``where`` is the name of the file in errors."""
    try:
        document = parse_toml(data.decode())
    except (ValueError, RecursionError, OverflowError) as error:  # TOML and UTF-8 errors are ValueErrors
        reason = " ".join(str(error).split())[:200] or "nested too deeply"
        raise MpiricError(f"{where} is not a recipe: {reason}", hint=_HINT) from error
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
        removed=tuple(sorted(REMOVED & settings.text_map(_MOST_KNOBS).keys())),
        fingerprint=_fingerprint(top.table("fingerprint")),
        evidence=_evidence(top.table("evidence"), version) if top.has("evidence") else None,
        command=top.texts("command", limit=10_000),
        created=top.text("created"),
        reasons=top.table("reasons").text_map() if top.has("reasons") else {},
        checked_output=top.choice("checked_output", ("learned", "command", "none")),
        mpiric_version=top.text("mpiric_version", default=""),
        scope=top.choice("scope", _SCOPES) if top.has("scope") else "",
        measured_in=top.text("measured_in", default=""),
        whole=_whole_check(top),
        marks=_proved_marks(top.table("marks")) if top.has("marks") else None,
        policy=top.texts("policy", limit=5000) if top.has("policy") else (),
        rank_order=_rank_order(top) if top.has("rank_order") else (),
        parameters=_parameters(top.table("parameters"), check) if top.has("parameters") else {},
        format=version,
    )
    if recipe.policy:
        # Raises for a policy that is wrong.
        parse_flat("\n".join(recipe.policy).encode(), f"{where}: 'policy'")
    top.refuse_unread()
    return recipe


def _configuration(table: CheckedTable, check: Check) -> Configuration:
    settings = table.text_map(_MOST_KNOBS)
    values = {knob: value for knob, value in settings.items() if knob not in REMOVED}
    for knob, value in values.items():
        if not (_KNOB.fullmatch(knob) or PARAMETER.fullmatch(knob)):
            raise table.error(knob, "is not the name of a knob")
        if len(value) > 256:
            raise table.error(knob, "has a value longer than any knob accepts")
        if reason := check(knob, value):
            raise table.error(knob, reason)
    return Configuration.of(values)


def _parameters(table: CheckedTable, check: Check) -> dict[str, str]:
    """Read the baseline values of the parameters of the command."""
    parameters = table.text_map(_MOST_KNOBS)
    for name, value in parameters.items():
        reason = check(name, value) if PARAMETER.fullmatch(name) else "is not the name of a parameter"
        if reason:
            raise table.error(name, reason)
    return dict(parameters)


def _rank_order(top: CheckedTable) -> tuple[int, ...]:
    """Read the slot of each rank."""
    numbers = top.text("rank_order").split()
    slots = tuple(
        int(number) for number in numbers if number.isascii() and number.isdigit() and len(number) < 12
    )
    if len(slots) != len(numbers) or sorted(slots) != list(range(len(slots))):
        raise top.error("rank_order", "must be a permutation of the slots from 0")
    return slots


def _fingerprint(table: CheckedTable) -> Fingerprint:
    parts = {name: table.table(name).text_map() for name in ("machine", "mpi", "program")}
    table.refuse_unread()
    return Fingerprint(**parts)


def _evidence(table: CheckedTable, version: int) -> Evidence:
    low, high = table.numbers("interval", count=2)
    pairs, confidence = table.pairs("pairs", limit=100_000), table.number("confidence")
    if version == 1 and 0 < confidence < 1 and all(original > 0 < tuned for original, tuned in pairs):
        # Format 1 stored a 95 % interval, but the verdict had another confidence.
        low, high = median_interval([original / tuned for original, tuned in pairs], 1 - confidence)
    evidence = Evidence(
        configuration=Configuration(),
        verdict=Verdict(table.choice("verdict", tuple(verdict.value for verdict in Verdict))),
        ratio=table.number("ratio"),
        low=low,
        high=high,
        pairs=pairs,
        confidence=confidence,
        minimum_effect=table.number("minimum_effect"),
        stopped_because=table.text("stopped_because", default=""),
        failures=table.texts("failures", limit=1000) if table.has("failures") else (),
        stopped=table.integers("stopped", len(pairs)) if table.has("stopped") else (),
        shares=tuple(map(_share, table.tables("shares", _MOST_KNOBS))) if table.has("shares") else (),
    )
    table.refuse_unread()
    if not (isfinite(evidence.ratio) and evidence.ratio > 0 and 0 <= evidence.low <= evidence.high):
        raise table.error("ratio", "and interval must be ratios of two times")
    return evidence


def _share(table: CheckedTable) -> Share:
    low, high = table.numbers("interval", count=2)
    share = Share(
        knobs=table.texts("knobs", limit=_MOST_KNOBS),
        ratio=table.number("ratio"),
        low=low,
        high=high,
        runs=table.integer("runs", 0, 1_000_000),
        shown=table.boolean("shown"),
        why=table.text("why", default=""),
        is_needed=table.boolean("needed") if table.has("needed") else False,
        is_likely=table.boolean("likely") if table.has("likely") else False,
        is_estimated=table.boolean("estimated") if table.has("estimated") else False,
    )
    table.refuse_unread()
    if not (share.ratio > 0 and 0 <= low <= high):
        raise table.error("ratio", "and interval must be ratios of two times")
    return share


def find_recipes(
    directory: Path, check: Check, score: Callable[[Recipe], float | None]
) -> tuple[tuple[tuple[Path, Recipe], ...], tuple[MpiricError, ...]]:
    """Return the recipes below a directory, best match first, and the errors of unreadable ones.

    ``score`` returns how well a recipe matches (see `fits`), or None to exclude it. Among equal scores the
    newest recipe is first.
    """
    matches: list[tuple[float, str, Path, Recipe]] = []
    errors: list[MpiricError] = []
    for path in sorted(directory.rglob(f"*{SUFFIX}")) if is_directory(directory) else ():
        try:
            recipe = read_recipe(path, check)
        except MpiricError as error:
            errors.append(error)
            continue
        if (value := score(recipe)) is not None:
            matches.append((value, recipe.created, path, recipe))
    matches.sort(key=lambda entry: (entry[0], entry[1], str(entry[2])), reverse=True)
    return tuple((path, recipe) for _, _, path, recipe in matches), tuple(errors)


def file_name(program: str) -> str:
    """Return a file name for a recipe of this program: letters, digits and ``_.-`` only."""
    stem = re.sub(r"[^A-Za-z0-9_.]+", "-", program).strip("-.")
    return (stem[:100].strip("-.") or "program") + SUFFIX


def _proved_marks(table: CheckedTable) -> ProvedMarks:
    """Read and check the table ``marks``."""
    pair = read_mark_option(table.text("mark"), on_rank_0_alone=table.boolean("on_rank_0_alone"))
    if pair is None:
        raise table.error("mark", "names no two calls")
    original_start_s, start_s = table.numbers("start_s", count=2)
    original_s, tuned_s = table.numbers("per_mark_s", count=2)
    inputs = table.texts("inputs", MOST_INPUTS) if table.has("inputs") else ()
    prints_nan = table.boolean("prints_nan")
    table.refuse_unread()
    if min(original_s, tuned_s) <= 0 or min(original_start_s, start_s) < 0:
        raise table.error("per_mark_s", "and start_s must be times")
    return ProvedMarks(pair, (original_start_s, start_s), (original_s, tuned_s), prints_nan, inputs)


def _whole_check_keys(check: WholeCheck) -> dict[str, object]:
    """Render the result of the check of a complete run; the reason is omitted if it is empty."""
    why = {"whole_check_why": check.why[:_LONGEST_WHY]} if check.why else {}
    return {"whole_check": check.verdict.value, **why}


def _whole_check(top: CheckedTable) -> WholeCheck | None:
    """Read the result of the check of a complete run; None without one."""
    if not top.has("whole_check"):
        return None
    verdict = WholeVerdict(top.choice("whole_check", tuple(verdict.value for verdict in WholeVerdict)))
    return WholeCheck(verdict, top.text("whole_check_why", default=""))


def write_whole_check(path: Path, check: WholeCheck) -> None:
    """Replace the result of the check of a complete run in a recipe's file, and nothing else in it.

    Raises MpiricError if the file cannot be read or written.
    """
    data = read_bounded(path, "recipe", _LARGEST_BYTES, "`mpiric tune` writes recipes")
    first_table = _FIRST_TABLE.search(data)
    end = first_table.start() if first_table else len(data)
    printable = "".join(char if char.isprintable() else "?" for char in check.why)
    keys = tomli_w.dumps(_whole_check_keys(WholeCheck(check.verdict, printable))).encode()
    head = _CHECK_LINES.sub(b"", data[:end]).rstrip(b"\n")
    write_text(path, (head + b"\n" + keys + b"\n" + data[end:]).decode(), "make the recipe writable")

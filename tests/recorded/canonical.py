"""Canonical text of the output and files of a case: equal on every machine, compact, readable in a diff.

Paths below the directory of the case begin with ``$``, times of day are seconds since the case began, numbers
have nine significant digits (the last ones differ between processors), and an event of a log shows only the
fields that differ from the last event of the same kind.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.recorded.program import Clock
from tests.recorded.world import Answer

from mpiric import __version__
from mpiric.model.job import Launch

_LONG_NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d{7,}(?:e-?\d+)?")
_TIME = re.compile(r"\b2026-01-05T(?:[\d:.]+)\+00:00")
_SAME = ("objective", "safe_s")  # fields of a trial that mostly equal its wall time


class Names:
    """Replaces paths and ids that differ between two plays of a case by short names."""

    def __init__(self, place: Path, logs: Sequence[Path]) -> None:
        tunes = {str(path.parent): f"${index}" for index, path in enumerate(logs, 1)}
        self._names = {**tunes, str(place): "$PLACE"}
        for index, path in enumerate(logs, 1):
            first = json.loads(path.read_text(encoding="utf-8").split("\n", 1)[0])
            job = str(first.get("job", "")).rpartition("-")[2]
            if re.fullmatch("[0-9a-f]{16}", job):
                self._names.setdefault(job, f"$JOB{index}")

    def __call__(self, text: str) -> str:
        """Return the text in canonical form."""
        for long, short in self._names.items():
            text = text.replace(long, short)
        text = _TIME.sub(lambda match: _since_begin(match[0]), text)
        text = text.replace(f'mpiric_version = "{__version__}"', 'mpiric_version = "$VERSION"')
        return _LONG_NUMBER.sub(lambda match: f"{float(match[0]):.6g}", text)


def call_text(answer: Answer, names: Names) -> str:
    """Return the text of a call of the command line: exit status, standard output and messages."""
    # Tables pad their last column.
    stdout = "".join(f"{line.rstrip(' ')}\n" for line in answer.stdout.splitlines())
    if stdout.startswith(("{", "[")):
        stdout = json.dumps(json.loads(stdout), indent=1, ensure_ascii=False) + "\n"
    parts = [f"$ mpiric {' '.join(answer.argv)}\n", f"exit status {answer.status}\n"]
    parts += [f"--- stdout\n{stdout}"] if stdout else []
    parts += [f"--- stderr\n{answer.stderr}"] if answer.stderr else []
    return names("".join(parts)) + "\n"


def launches_text(launches: Sequence[Launch], names: Names) -> str:
    """Return the text of all distinct launches in the order of their first runs, with the number of runs."""
    lines = [re.sub(r"(outputs|records)/\d+", r"\1/#", launch.shell_line()) for launch in launches]
    lines = [names(line) for line in lines]
    return "".join(
        ["=== launches\n", *(f"{lines.count(line):4} {line}\n" for line in dict.fromkeys(lines)), "\n"]
    )


def log_text(path: Path, names: Names) -> str:
    """An event log, one line an event."""
    return f"=== {names(str(path))}\n" + "".join(f"{names(line)}\n" for line in _events(path)) + "\n"


def files_text(place: Path, names: Names) -> str:
    """Names of all files that are left, and the text of site defaults."""
    paths = [path for path in sorted(place.glob("**/*")) if path.is_file() and "native" not in path.parts]
    texts = [f"{names(str(path))}\n" for path in paths]
    site = [
        f"=== {names(str(path))}\n{names(path.read_text())}\n" for path in paths if path.parent.name == "site"
    ]
    return "".join(["=== files\n", *texts, "\n", *site])


def recipe_text(path: Path, names: Names) -> str:
    """A recipe, or another TOML file, with its arrays of numbers on one line."""
    text = re.sub(r"\[\n\s+([\d.]+),\n\s+([\d.]+),\n\s+\]", r"[\1, \2]", path.read_text(encoding="utf-8"))
    return f"=== {names(str(path))}\n{names(text)}\n"


def _events(path: Path) -> Iterator[str]:
    before: dict[str, Mapping[str, Any]] = {}
    keys: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            yield f"damaged: {line[:40]}"
            continue
        if line != json.dumps(event, ensure_ascii=False):
            yield f"not written as json.dumps does: {line}"
        kind, result = str(event.pop("event", "")), event.pop("result", None)
        fields = {name: _short(event, name, value) for name, value in event.items()}
        previous = before.get(kind, {})
        parts = [f"{name}={value}" for name, value in fields.items() if previous.get(name) != value]
        parts += [f"-{name}" for name in previous if name not in fields]
        if previous and [name for name in keys[kind] if name in fields] != [
            n for n in fields if n in keys[kind]
        ]:
            parts.append(f"order of fields: {' '.join(fields)}")
        before[kind], keys[kind] = fields, list(fields)
        yield f"{kind} {' '.join(parts)}"
        if result is not None:
            yield json.dumps(result, indent=1, ensure_ascii=False)


def _short(event: Mapping[str, Any], name: str, value: Any) -> str:
    if name in _SAME and value is not None and value == event.get("wall_s"):
        return "wall_s"
    if name == "process":
        return "$PROCESS"
    if name in ("at", "started_at"):
        return _since_begin(str(value))
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) or " " in value else value
    if name in ("stdout", "stderr"):
        text = text.replace(f"/{event.get('number')}.", "/#.")
    return text


def _since_begin(text: str) -> str:
    """Return a time of day as seconds since the case began."""
    began_s = Clock().unix_s()
    return f"+{round(datetime.fromisoformat(text).timestamp() - began_s, 3):.9g}"

"""Events of a tune ⇄ lines of JSON. The reader skips damaged lines and counts them."""

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from mpiric.host.files import is_file
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.json_text import is_number, parse_json, read_fields
from mpiric.model.run import Outcome, Phase, Split, Trial

_LONGEST_LINE = 1 << 20
AMENDED = "amended"  # event with objective and outcome of a trial that was logged before they were known
# Fields that are not written if they have their default value, and fields of the measuring process only.
_OMITTED = "block replicate at_least split came_early safe_s written_bytes ended_unix_s disturbed".split()
_NOT_LOGGED = ("ranks", "marks", "took_s", "runs", "doing")
_OPTIONAL: Mapping[str, object] = {
    name: field.default for name, field in Trial.__dataclass_fields__.items() if name in _OMITTED
}


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_text_map(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


def _is_result(value: object) -> bool:
    """Return whether the fields of a result that readers use have the right types."""
    if not isinstance(value, dict):
        return False
    ratio, changes = value.get("ratio"), value.get("changes", [])
    return (
        (ratio is None or is_number(ratio))
        and isinstance(value.get("verdict") or "", str)
        and _is_text_map(value.get("configuration") or {})
        and _is_texts(value.get("tried", []))
        and isinstance(changes, list)
        and all(isinstance(item, dict) and isinstance(item.get("knob"), str) for item in changes)
    )


_Check = Callable[[object], bool]
# Fields of events that readers rely on. A line in which one has another type counts as damaged.
_REQUIRED: Mapping[str, Mapping[str, _Check]] = {
    "candidates": {"configurations": lambda value: isinstance(value, list) and all(map(_is_text_map, value))},
    "networks": {"names": _is_texts},
    "whole runs": {"why": _is_text},
}
_OPTIONAL_FIELDS: Mapping[str, Mapping[str, _Check]] = {
    "meta": {
        "at": lambda value: moment(str(value)) is not None,
        "command": _is_texts,
        "job": _is_text,
        "objective": _is_text,
    },
    "finished": {"result": _is_result},
    "space": {"class": _is_text},
    "benchmark": {"elapsed_s": is_number},
}


@dataclass(frozen=True)
class TuneEvents:
    """Contents of the log of one tune."""

    meta: Mapping[str, object] = field(default_factory=dict)  # first "meta" event
    events: tuple[Mapping[str, object], ...] = ()  # all readable events, in order
    trials: tuple[Trial, ...] = ()
    damaged_lines: int = 0

    @property
    def is_finished(self) -> bool:
        """Return whether the tune has ended."""
        return bool(self.named("finished"))

    @property
    def result(self) -> Mapping[str, Any]:
        """Return the result as `mpiric tune --json` prints it; empty for a tune that has not ended."""
        finished = self.named("finished")
        result = finished[-1].get("result") if finished else None
        return result if isinstance(result, dict) else {}

    def named(self, name: str) -> list[Mapping[str, Any]]:
        """Return the events with this name, in order."""
        return [event for event in self.events if event.get("event") == name]

    def trials_of(self, phase: Phase) -> tuple[Trial, ...]:
        """Return the trials of one phase, in order."""
        return tuple(trial for trial in self.trials if trial.phase is phase)


def read_log(path: Path) -> TuneEvents:
    """Read the events of one tune; damaged lines are skipped and counted."""
    events: list[Mapping[str, object]] = []
    trials: list[Trial] = []
    damaged = 0
    if not is_file(path):  # a FIFO would block
        return TuneEvents()
    try:
        file = path.open("rb")
    except OSError:
        return TuneEvents()
    with file:
        while True:
            try:
                line = file.readline(_LONGEST_LINE)
            except OSError:
                break
            if not line:
                break
            try:
                event = _event(line)
                if event["event"] == "trial":
                    trials.append(trial_from_json(event))
                elif event["event"] == AMENDED:
                    _amend(trials, event)
                events.append(event)
            except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
                damaged += 1
    meta = next((event for event in events if event["event"] == "meta"), {})
    return TuneEvents(meta, tuple(events), tuple(trials), damaged)


def moment(text: str) -> datetime | None:
    """Parse a time in ISO 8601, UTC unless it names a zone; None if the text is not a time."""
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None


def _amend(trials: list[Trial], event: Mapping[str, object]) -> None:
    objective = None if event["objective"] is None else _number(event["objective"])
    for at, trial in enumerate(trials):
        if trial.number == event["number"]:
            outcome = Outcome(event.get("outcome", trial.outcome.value))
            reason = str(event.get("reason", trial.reason))
            trials[at] = replace(trial, objective=objective, outcome=outcome, reason=reason)


def _event(line: bytes) -> Mapping[str, object]:
    if not line.endswith(b"\n"):
        raise ValueError("cut short")
    document = parse_json(line)
    if not isinstance(document, dict) or not isinstance(document.get("event"), str):
        raise TypeError("event")
    name = document["event"]
    for key, is_right in _REQUIRED.get(name, {}).items():
        if not is_right(document.get(key)):
            raise TypeError(key)
    for key, is_right in _OPTIONAL_FIELDS.get(name, {}).items():
        if key in document and not is_right(document[key]):
            raise TypeError(key)
    return document


def trial_to_json(trial: Trial) -> dict[str, object]:
    """Return a trial as a JSON object."""
    document = {name: value for name, value in vars(trial).items() if name not in _NOT_LOGGED}
    document |= {"phase": trial.phase.value, "outcome": trial.outcome.value}
    document["configuration"] = trial.configuration.as_dict()
    for name, absent in _OPTIONAL.items():
        if document[name] == absent:
            del document[name]
    if trial.split is not None:
        document["split"] = {name: value for name, value in vars(trial.split).items() if value is not None}
    return document


def trial_from_json(document: Mapping[str, object]) -> Trial:
    """Read a trial. Raises ValueError, KeyError or TypeError for an invalid document."""
    configuration = document["configuration"]
    if not isinstance(configuration, dict):
        raise TypeError("configuration")
    objective = document["objective"]
    return Trial(
        configuration=Configuration.of({str(knob): str(value) for knob, value in configuration.items()}),
        phase=Phase(document["phase"]),
        outcome=Outcome(document["outcome"]),
        wall_s=_number(document["wall_s"]),
        objective=None if objective is None else _number(objective),
        exit_status=int(_number(document.get("exit_status", 0))),
        reason=str(document.get("reason", "")),
        stdout=str(document.get("stdout", "")),
        stderr=str(document.get("stderr", "")),
        started_at=str(document.get("started_at", "")),
        ended_unix_s=_number(document.get("ended_unix_s", 0.0)),
        rss_peak_bytes=int(_number(document.get("rss_peak_bytes", 0))),
        number=int(_number(document.get("number", 0))),
        pair=int(_number(document.get("pair", -1))),
        replicate=int(_number(document.get("replicate", 0))),
        at_least=None if document.get("at_least") is None else _number(document["at_least"]),
        block=str(document.get("block", "")),
        split=None if document.get("split") is None else read_fields(Split, document["split"]),
        safe_s=None if document.get("safe_s") is None else _number(document["safe_s"]),
        written_bytes=int(_number(document.get("written_bytes", 0))),
        came_early=document.get("came_early") is True,
        disturbed=document.get("disturbed") is True,
    )


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("number")
    return float(value)

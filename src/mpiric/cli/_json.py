"""`--json`: values of the model as one JSON object on stdout."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import PurePath
from typing import Any

from mpiric.model.quoting import printable_json

# hwloc's own text stands in the model for programs that read it; as a string in JSON it helps nobody.
_LEFT_OUT = {"xml"}


def as_json(value: Any) -> Any:
    """Dataclasses by field name, enums by value, everything else as JSON has it."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: as_json(getattr(value, f.name)) for f in fields(value) if f.name not in _LEFT_OUT}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(as_json(item) for item in value)
    return str(value) if isinstance(value, PurePath) else value


def json_text(document: Any) -> str:
    """Indented JSON, in which control characters are escaped as JSON does."""
    return printable_json(json.dumps(document, indent=2, ensure_ascii=False))


def print_json(value: Any) -> None:
    """One object, readable by people too."""
    print(json_text(as_json(value)))

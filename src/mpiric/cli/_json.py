"""Output of `--json`: values of the model as one JSON object."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import PurePath
from typing import Any

from mpiric.model.quoting import printable_json

# The XML of hwloc is input of other programs and is of no use as a string in JSON.
_OMITTED = {"xml"}


def as_json(value: Any) -> Any:
    """Convert dataclasses to objects by field name, enums to their values, and collections to lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: as_json(getattr(value, f.name)) for f in fields(value) if f.name not in _OMITTED}
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
    """Return indented JSON with escaped control characters."""
    return printable_json(json.dumps(document, indent=2, ensure_ascii=False))


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    print(json_text(as_json(value)))

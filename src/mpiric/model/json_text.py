"""Robust JSON input: documents of any origin → plain values, and plain values → dataclasses."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import lru_cache
from math import isfinite
from types import UnionType
from typing import Any, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

_T = TypeVar("_T")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LARGEST = 2**63 - 1


def parse_json(data: bytes | str, *, constants: bool = True) -> Any:
    """Parse a JSON document. Raises ValueError for any other input, also if it is nested too deeply.

    Lone surrogates become U+FFFD, because text with a surrogate can be neither printed nor written.
    Integers have at most 64 bits, so that each can be converted to a float. Without ``constants`` NaN and
    Infinity are errors.
    """
    try:
        text = data if isinstance(data, str) else data.decode()
        document = json.loads(text, parse_int=_integer, parse_constant=None if constants else _refuse)
        return _without_surrogates(document) if "\\ud" in text.lower() else document
    except RecursionError:
        raise ValueError("nested too deeply") from None


def json_lines(text: str, begin: str = "{") -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in the output of a command, one per line; skip damaged lines and other text.

    ``begin`` is the first text of an object; it may be preceded by other text on its line.
    """
    for line in text.splitlines():
        at = line.find(begin)
        if at >= 0:
            with suppress(ValueError):
                row = parse_json(line[at:])
                if isinstance(row, dict):
                    yield row


def read_fields(kind: type[_T], value: object) -> _T:
    """Return a dataclass from the JSON object of its fields; ignore additional keys of later versions.

    Raises ValueError with the name of a field that is missing or has a wrong type. Fields may be strings,
    booleans, 64-bit integers, finite numbers, enums, dataclasses, and unions and lists of these.
    """
    record: _T = _typed(kind, value, kind.__name__)
    return record


def is_number(value: object) -> bool:
    """Return whether a value of JSON is a finite number."""
    return not isinstance(value, bool) and (
        (isinstance(value, int) and abs(value) <= _LARGEST) or (isinstance(value, float) and isfinite(value))
    )


def _integer(digits: str) -> int:
    number = int(digits)
    if not -_LARGEST - 1 <= number < 1 << 64:
        raise ValueError(f"{digits[:20]}… is not a 64-bit integer")
    return number


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value


@lru_cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _typed(kind: Any, value: Any, name: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        for kind in arguments:
            with suppress(ValueError):
                return _typed(kind, value, name)
        raise ValueError(f"{name} is of a wrong type")
    if origin is tuple and isinstance(value, list):
        kinds = (
            (arguments[0],) * len(value) if len(arguments) == 2 and arguments[1] is Ellipsis else arguments
        )
        if len(kinds) == len(value):
            return tuple(_typed(one, part, name) for one, part in zip(kinds, value, strict=True))
    if is_dataclass(kind) and isinstance(value, dict):
        return _dataclass(kind, value, name)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if kind is float and is_number(value):
        return float(value)
    if type(value) is kind and (is_number(value) if kind is int else kind is not float):
        return value  # str, bool, int, None
    raise ValueError(f"{name} is of a wrong type")


def _dataclass(kind: Any, value: Mapping[str, Any], name: str) -> Any:
    hints = _hints(kind)
    needed = {
        attribute.name
        for attribute in fields(kind)
        if attribute.default is MISSING and attribute.default_factory is MISSING
    }
    if missing := sorted(needed - set(value)):
        raise ValueError(f"{name}.{missing[0]} is missing")
    present = [attribute.name for attribute in fields(kind) if attribute.name in value]
    return kind(**{key: _typed(hints[key], value[key], f"{name}.{key}") for key in present})

"""Configuration: values of some knobs, also of the user's own parameters; empty: the unchanged command."""

import re
from collections.abc import Iterable, Mapping, Sequence

from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError


@dataclass(frozen=True, order=True)
class Configuration:
    """Knob values, sorted by knob name; hashable and comparable."""

    items: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def of(values: Mapping[str, str]) -> "Configuration":
        """Return the configuration with these values."""
        return Configuration(tuple(sorted(values.items())))

    def as_dict(self) -> dict[str, str]:
        """Return the values by knob name."""
        return dict(self.items)

    def with_value(self, knob: str, value: str | None) -> "Configuration":
        """Return a copy with one knob set to a value, or removed if the value is None."""
        values = self.as_dict()
        if value is None:
            values.pop(knob, None)
        else:
            values[knob] = value
        return Configuration.of(values)

    def __bool__(self) -> bool:
        return bool(self.items)

    def __str__(self) -> str:
        return " ".join(f"{knob}={value}" for knob, value in self.items) or "(as it is)"


PARAMETER = re.compile(r"\{[A-Za-z_][A-Za-z0-9_]{0,61}\}")  # name of the knob of a parameter
PARAMETERS = "param"  # family of these knobs, for `--only`
# A recipe contains values, so they cannot be paths, commands or options; numbers may be negative.
_VALUE = re.compile(r"-[0-9][0-9.eE]{0,30}|[A-Za-z0-9][A-Za-z0-9_.:=+-]{0,63}")
FORM = "at most 64 letters, digits and _.:=+-, the first a letter or digit; or it is a negative number"
_EXAMPLE = "for example: mpiric tune --param NB=64,128,256 -- mpirun -n 4 ./app --block {NB}"


def check_parameter_value(value: str) -> None:
    """Raise ValueError for a text that cannot be the value of a parameter."""
    if not _VALUE.fullmatch(value):
        raise ValueError(f"not a value of a parameter: {value!r}")


def substitute(argv: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """Return the arguments with each ``{NAME}`` of ``values`` replaced; other braces stay."""
    replaced = tuple(argv)
    for name, value in values.items():
        replaced = tuple(word.replace(name, value) for word in replaced)
    return replaced


def parse_parameters(texts: Sequence[str], places: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the values by ``{NAME}``, from texts ``NAME=v1,v2,…``.

    ``places`` are the arguments of the command and the texts of files in which the names stand. Raises
    MpiricError for invalid texts, and if a name stands nowhere.
    """
    where = tuple(places)
    parameters: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, equals, listed = text.partition("=")
        knob, values = f"{{{name}}}", tuple(listed.split(","))
        if not equals or not PARAMETER.fullmatch(knob):
            raise MpiricError(f"--param takes NAME=VALUE,VALUE,…, not {text!r}", hint=_EXAMPLE)
        if knob in parameters:
            raise MpiricError(
                f"--param names {name} twice", hint=f"list all its values once: --param {name}=VALUE,VALUE"
            )
        if wrong := [value for value in values if not _VALUE.fullmatch(value)]:
            raise MpiricError(
                f"{wrong[0]!r} cannot be a value of the parameter {name}", hint=f"a value has {FORM}"
            )
        if len(set(values)) < len(values):
            raise MpiricError(f"--param {text} lists a value twice", hint="list each value once")
        if len(values) == 1:
            raise MpiricError(
                f"--param {text} has one value, so there is nothing to compare",
                hint=f"add other values: --param {text},VALUE",
            )
        if not any(knob in text for text in where):
            raise MpiricError(
                f"the command does not contain {knob}, and no file of --param-file does", hint=_EXAMPLE
            )
        parameters[knob] = values
    return parameters

"""Configuration: values for some knobs. The empty one is the user's own command, untouched."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Configuration:
    """Knob values, sorted by knob name; hashable, equal when they set the same."""

    items: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def of(values: Mapping[str, str]) -> "Configuration":
        """The configuration with these values."""
        return Configuration(tuple(sorted(values.items())))

    def as_dict(self) -> dict[str, str]:
        """Knob name → value."""
        return dict(self.items)

    def with_value(self, knob: str, value: str | None) -> "Configuration":
        """A copy with one knob set, or taken back to the user's own with None."""
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

"""Configuration: values of some knobs. The empty configuration is the user's unchanged command."""

from collections.abc import Mapping

from mpiric.model.dataclass import dataclass


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

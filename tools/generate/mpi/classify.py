"""Finds, for each function, the rule that says what is noted about it."""

import re
from dataclasses import dataclass, replace

from .load import Function, Rule


@dataclass(frozen=True)
class Classified:
    """A function and its rule."""

    function: Function
    rule: Rule

    def parameters(self, kind: str, *directions: str) -> list[str]:
        """Names of the parameters of a kind that go in one of the directions; arrays are left out."""
        return [
            p.name
            for p in self.function.parameters
            if p.kind == kind and p.direction in directions and "[" not in p.declaration
        ]


def classify(function: Function, rules: list[Rule]) -> Classified:
    """The first rule that fits. A persistent collective is noted as the collective is, when it is started."""
    name = function.name.removeprefix("MPI_").removesuffix("_c")
    base = name.removesuffix("_init")
    for candidate in [name, base] if base != name else [name]:
        for rule in rules[:-1]:
            if not re.fullmatch(rule.match, candidate):
                continue
            if candidate == name:
                return Classified(function, rule)
            if rule.class_name == "collective":
                persistent = {**rule.notes, "request": "request"}
                return Classified(function, replace(rule, class_name="persistent", notes=persistent))
    return Classified(function, rules[-1])

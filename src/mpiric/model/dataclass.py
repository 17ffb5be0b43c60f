"""A decorator that is used like `dataclasses.dataclass` and takes a fifth of its time.

Python compiles up to seven methods for each data class, which was almost half of the start of `mpiric run`.
This decorator lets Python compile `__init__` alone; comparison, hash and representation are plain functions.
``frozen=True`` gives a hash, and the type checker rejects assignments to fields; at run time nothing does.
"""

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, order=False, slots=False):
        """Make a data class as `dataclasses.dataclass` does with the same options."""
        if cls is None:
            return lambda decorated: dataclass(decorated, frozen=frozen, order=order, slots=slots)
        if order:
            return dataclasses.dataclass(cls, frozen=frozen, order=True, slots=slots)
        new_class = dataclasses.dataclass(cls, repr=False, eq=False, slots=slots)
        for name, method in _methods(new_class, hashed=frozen).items():
            if cls.__dict__.get(name) is None:  # a class with __eq__ of its own has None as __hash__
                setattr(new_class, name, method)
        return new_class


def _methods(new_class: Any, *, hashed: bool) -> dict[str, Callable[..., Any] | None]:
    fields = dataclasses.fields(new_class)
    shown = [field.name for field in fields if field.repr]
    compared = [field.name for field in fields if field.compare]
    values: Callable[[Any], Any] = attrgetter(*compared) if compared else lambda _: ()

    def represent(self: Any) -> str:
        assignments = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({assignments})"

    def equal(self: Any, other: object) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hash_of(self: Any) -> int:
        return hash(values(self))

    return {"__repr__": represent, "__eq__": equal, "__hash__": hash_of if hashed else None}

"""Data classes: they compare, hash and print as Python's do."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from mpiric.model.dataclass import dataclass


def make(decorator: Callable[..., Any], **options: bool) -> Any:
    @decorator(**options)
    class Point:
        x: int
        name: str = "origin"
        note: str = dataclasses.field(default="", compare=False, repr=False)

    return Point


@pytest.mark.parametrize("options", [{}, {"frozen": True}, {"frozen": True, "slots": True}])
def test_it_behaves_as_a_data_class_of_python(options: dict[str, bool]) -> None:
    project_class, standard_class = make(dataclass, **options), make(dataclasses.dataclass, **options)
    assert repr(project_class(1, "a", "b")) == repr(standard_class(1, "a", "b"))
    for other in (project_class(1, "a", "c"), project_class(2, "a", "b"), project_class(1)):
        like = standard_class(other.x, other.name, other.note)
        assert (project_class(1, "a", "b") == other) == (standard_class(1, "a", "b") == like)
    assert project_class(1) != standard_class(1)
    assert (project_class.__hash__ is None) == (standard_class.__hash__ is None)
    assert dataclasses.replace(project_class(1), x=2) == project_class(2)
    assert dataclasses.asdict(project_class(1)) == dataclasses.asdict(standard_class(1))
    assert hasattr(project_class(1), "__dict__") == hasattr(standard_class(1), "__dict__")


def test_equal_objects_have_equal_hashes() -> None:
    point = make(dataclass, frozen=True)
    assert hash(point(1, "a", "b")) == hash(point(1, "a", "c"))
    assert len({point(1), point(1), point(2)}) == 2


def test_ordered_ones_are_compared_field_by_field() -> None:
    point = make(dataclass, frozen=True, order=True)
    assert sorted([point(2, "a"), point(1, "b"), point(1, "a")]) == [
        point(1, "a"),
        point(1, "b"),
        point(2, "a"),
    ]


def test_a_class_without_fields_and_one_with_its_own_equality() -> None:
    @dataclass(frozen=True)
    class Empty:
        pass

    @dataclass(frozen=True)
    class Same:
        x: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Same)

    assert Empty() == Empty()
    assert hash(Empty()) == hash(Empty())
    assert Same(1) == Same(2)
    assert hash(Same(1)) == hash(Same(1))

"""Ordinary users for the tests of mpiric on shared machines."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from tests.support.users import users


@pytest.fixture
def people() -> Iterator[SimpleNamespace]:
    """`people.owner`, who runs mpiric, `people.other` of the same group, and `people.stranger`.

    Needs ``pytestmark = pytest.mark.requires(*USERS)`` of `tests.support.users`.
    """
    with users() as (owner, other, stranger):
        yield SimpleNamespace(owner=owner, other=other, stranger=stranger, machine=owner.machine)

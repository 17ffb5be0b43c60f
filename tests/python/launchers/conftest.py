import shlex
from collections.abc import Callable

import pytest

from mpiric.launchers import parse_command
from mpiric.model.job import Job


@pytest.fixture
def parse() -> Callable[..., Job]:
    """`parse("mpirun -n 2 ./a", "openmpi4", A="1")`: the job, started with these variables."""

    def parse_line(line: str, dialect: str, **environment: str) -> Job:
        return parse_command(shlex.split(line), "/work", environment, dialect=dialect)

    return parse_line

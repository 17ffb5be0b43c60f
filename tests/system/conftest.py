from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.workshop import Workshop


@pytest.fixture
def shop(tmp_path: Path, environment: dict[str, str], run_mpiric: Callable[..., object]) -> Workshop:
    place = tmp_path / "shop"
    place.mkdir()
    return Workshop(place, environment, run_mpiric)

from pathlib import Path

import pytest
from tests.support.replay_host import ReplayHost

DATA = Path(__file__).parents[2] / "data" / "machines"


@pytest.fixture
def debian12() -> ReplayHost:
    return ReplayHost.load(DATA / "debian12.json")

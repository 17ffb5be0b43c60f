"""Shared fixtures of the tests of the runtime."""

import pytest
from tools.generate.native import main as generate


@pytest.fixture(scope="session")
def generated(tmp_path_factory):
    """Directory of the generated headers."""
    directory = tmp_path_factory.mktemp("generated")
    generate(directory)
    return directory / "runtime"

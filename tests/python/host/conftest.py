"""Real launches by a Runner, and their leftovers."""

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ClusterShell
import pytest

import mpiric
from mpiric.host.processes.execution import Runner, Workspace
from mpiric.host.processes.proc import carrying
from mpiric.model.job import Launch
from mpiric.model.run import Execution

TAG = "MPIRIC_TEST_TAG"


@dataclass
class Bench:
    """A directory, a runner and a tag that every process of its launches carries."""

    runner: Runner
    path: Path
    environment: dict[str, str]
    tag: str = field(default_factory=lambda: uuid.uuid4().hex)

    def run(self, *argv: str, limit_s: float | None = 60, **options: Any) -> Execution:
        stdin = options.pop("stdin", "")
        launch = Launch(argv, str(self.path), {TAG: self.tag, **options.pop("set", {})}, stdin=stdin)
        directory = options.pop("directory", self.path)
        self.runner.on_sample = options.pop("on_sample", None)
        return self.runner.execute(
            launch,
            self.environment,
            Workspace(directory, self.path / "stdout", self.path / "stderr"),
            limit_s,
            **options,
        )

    def python(self, text: str, **options: Any) -> Execution:
        (self.path / "program.py").write_text(text)
        return self.run(sys.executable, "program.py", **options)

    def alive(self) -> list[int]:
        return carrying(TAG, self.tag)

    @property
    def stdout(self) -> str:
        return (self.path / "stdout").read_text()


@pytest.fixture
def mpi_environment() -> dict[str, str]:
    names = ("ALLOW_RUN_AS_ROOT", "ALLOW_RUN_AS_ROOT_CONFIRM")
    as_root = {f"{family}_{word}": "1" for family in ("OMPI", "PRTE") for word in names}
    return {**os.environ, **as_root, "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}


@pytest.fixture
def bench(tmp_path: Path, mpi_environment: dict[str, str]) -> Iterator[Bench]:
    with Runner(grace_s=1.0) as runner:
        yield Bench(runner, tmp_path, mpi_environment)


@pytest.fixture
def as_nobody(mpi_environment: dict[str, str]) -> Iterator[Callable[..., "subprocess.CompletedProcess[str]"]]:
    """Runs a Python script as an ordinary user, who may not be able to read our checkout or interpreter."""
    if os.getuid() != 0 or not shutil.which("setpriv") or not Path("/usr/bin/python3").exists():
        pytest.skip("needs root, setpriv and the system's python3")
    with tempfile.TemporaryDirectory(dir="/tmp") as public:
        Path(public).chmod(0o755)
        for package in (mpiric, ClusterShell):
            shutil.copytree(Path(package.__file__).parent, Path(public) / package.__name__)
        environment = {**mpi_environment, "PYTHONPATH": public, "TMPDIR": "/tmp", "HOME": "/nonexistent"}
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c"]

        def run(script: str, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
            return subprocess.run(
                [*user, textwrap.dedent(script), *arguments],
                capture_output=True,
                text=True,
                check=False,
                cwd="/",
                env={**environment, **variables},
            )

        yield run

"""Collectives answered by the tuner in real programs: right whatever it chooses, and replayed."""

import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).parent / "runtime_programs/collectives.c"
NATIVE = ROOT / "src/mpiric/_native"
# Another device's collectives in shared memory spin, which ranks without a core of their own do not survive.
BEARABLE = {
    "mpich": {
        f"MPIR_CVAR_{name}_POSIX_INTRA_ALGORITHM": "mpir"
        for name in ("ALLREDUCE", "BARRIER", "BCAST", "REDUCE")
    },
    "openmpi": {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_coll_tuned_use_dynamic_rules": "1"},
}
FAMILIES = [
    pytest.param("mpich", marks=pytest.mark.requires("debian-mpich")),
    pytest.param("openmpi", marks=pytest.mark.requires("debian-openmpi")),
]


@pytest.fixture
def run(environment, tmp_path):
    """`run(family, ranks, rounds, …)` runs the program with the runtime; settings go to the ranks only."""

    def launch(family: str, ranks: int, *arguments: str, **settings: str):
        program = tmp_path / f"collectives-{family}"
        if not program.exists():
            command = [f"mpicc.{family}", "-O1", str(PROGRAM), "-o", str(program)]
            subprocess.run(command, check=True, timeout=120)
        given = {
            **BEARABLE[family],
            "LD_PRELOAD": str(NATIVE / family / "libmpiric.so"),
            "MPIRIC_LEARN_AT_MOST": "",
            **settings,
        }
        flags = {
            "mpich": [word for name, value in given.items() for word in ("-genv", name, value)],
            "openmpi": [word for name, value in given.items() for word in ("-x", f"{name}={value}")],
        }[family]
        launcher = {
            "mpich": ["mpiexec.mpich"],
            "openmpi": ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none"],
        }
        return subprocess.run(
            [*launcher[family], "-n", str(ranks), *flags, str(program), *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=200,
        )

    return launch


@pytest.mark.parametrize("family", FAMILIES)
def test_results_are_right_when_every_call_has_another_algorithm(run, family):
    done = run(family, 3, "3", "errors", MPIRIC_COLLECTIVES="restless")
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr


@pytest.mark.parametrize("family", FAMILIES)
def test_results_are_right_while_it_learns_and_records(run, family, tmp_path):
    learned = tmp_path / "learned.json"
    done = run(
        family,
        2,
        "40",
        MPIRIC_COLLECTIVES="online",
        MPIRIC_POLICY_OUT=str(learned),
        MPIRIC_RECORD_DIR=str(tmp_path / "record"),
        MPIRIC_MERGE="tree",
    )
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    policy = json.loads(learned.read_text(encoding="utf-8"))
    assert policy["world"]["ranks"] == 2
    assert {"allreduce", "bcast", "barrier"} <= {key["collective"] for key in policy["keys"]}
    assert any(key["learning_calls"] for key in policy["keys"])
    assert (tmp_path / "record").is_dir()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_policy_is_obeyed_and_a_broken_one_is_named(run, family, tmp_path):
    policy = tmp_path / "policy.txt"
    version = {"mpich": "4.0.2", "openmpi": "4.1.4"}[family]
    head = f"mpiric-policy 1\nmpi {family} {version}\n"
    policy.write_text(f"{head}choose allreduce * * * * * 0 * library:recursive_doubling\n", encoding="utf-8")
    done = run(family, 3, "3", MPIRIC_COLLECTIVES="policy", MPIRIC_POLICY=str(policy))
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")
    policy.write_text(f"{head}choose allreduce twice\n", encoding="utf-8")
    done = run(family, 2, "1", MPIRIC_COLLECTIVES="policy", MPIRIC_POLICY=str(policy))
    assert done.stdout == "right\n"
    assert "line 3" in done.stderr

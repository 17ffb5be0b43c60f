"""Collectives answered by the tuner in real programs: right whatever it chooses, and replayed."""

import json
import os
import signal
import subprocess
from datetime import datetime, timezone
from pathlib import Path

import pytest
from tests.support.oversubscription import yielding

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "runtime_programs"
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


# Runs what follows with the runtime on rank 0 alone.
LACKING = (
    "sh",
    "-c",
    '[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 0 ] || unset LD_PRELOAD MPIRIC_COLLECTIVES; exec "$@"',
    "sh",
)


@pytest.fixture
def command(tmp_path):
    """`command(family, ranks, rounds, …)`: a program with the runtime; settings go to the ranks only."""

    def built(
        family: str,
        ranks: int,
        *arguments: str,
        source: str = "collectives.c",
        before: tuple[str, ...] = (),
        **settings: str,
    ) -> list[str]:
        program = tmp_path / f"{Path(source).stem}-{family}"
        if not program.exists():
            command = [f"mpicc.{family}", "-O1", "-pthread", str(PROGRAMS / source), "-o", str(program)]
            subprocess.run(command, check=True, timeout=120)
        variables = {
            **BEARABLE[family],
            "LD_PRELOAD": yielding(NATIVE / family / "libmpiric.so"),
            "MPIRIC_LEARN_AT_MOST": "",
            **settings,
        }
        flags = {
            "mpich": [word for name, value in variables.items() for word in ("-genv", name, value)],
            "openmpi": [word for name, value in variables.items() for word in ("-x", f"{name}={value}")],
        }[family]
        launcher = {
            "mpich": ["mpiexec.mpich"],
            "openmpi": ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none"],
        }
        return [*launcher[family], "-n", str(ranks), *flags, *before, str(program), *arguments]

    return built


@pytest.fixture
def run(command, environment):
    """`run(family, ranks, rounds, …)` runs the result of `command`."""

    def launch(*arguments: object, **settings: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*arguments, **settings), env=environment, capture_output=True, text=True, timeout=200
        )

    return launch


@pytest.mark.parametrize("family", FAMILIES)
def test_results_are_right_when_every_call_has_another_algorithm(run, family):
    done = run(family, 3, "3", "errors", MPIRIC_COLLECTIVES="rotate")
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("mode", ["rotate", "online"])
def test_random_schedules_on_communicators_that_come_and_go_give_right_results(run, family, mode):
    done = run(family, 4, "1", "300", source="schedule.c", MPIRIC_COLLECTIVES=mode)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stdout + done.stderr


@pytest.mark.parametrize("family", FAMILIES)
def test_results_are_right_while_it_learns_and_records(run, family, tmp_path):
    learned, start = tmp_path / "learned.json", datetime.now(timezone.utc).replace(microsecond=0)
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
    assert datetime.fromisoformat(policy["written"].replace("Z", "+00:00")) >= start
    assert policy["machine"].get("cpu", "") in Path("/proc/cpuinfo").read_text(encoding="utf-8")
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


# Copies everything several times over: at this size another algorithm is faster, whatever else runs here.
_SLOW = {
    "mpich": ("4.0.2", "library:brucks"),
    "openmpi": ("4.1.4", "own:bruck_2"),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_what_a_policy_chose_gives_way_where_it_is_not_faster(run, family, tmp_path):
    version, slow = _SLOW[family]
    policy, learned = tmp_path / "policy.txt", tmp_path / "learned.json"
    policy.write_text(
        f"mpiric-policy 1\nmpi {family} {version}\nchoose alltoall * * * * * 0 * {slow}\n", encoding="utf-8"
    )
    obeyed = {
        "MPIRIC_COLLECTIVES": "policy",
        "MPIRIC_POLICY": str(policy),
        "MPIRIC_POLICY_OUT": str(learned),
    }
    done = run(family, 2, "4000", "65536", source="repeats.c", **obeyed)
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")
    (key,) = json.loads(learned.read_text(encoding="utf-8"))["keys"]
    assert (key["collective"], key["candidate"], key["decided"]) == ("alltoall", "library", True)
    assert [entry["name"] for entry in key["candidates"]] == ["library", slow]

    done = run(family, 2, "4000", "65536", source="repeats.c", MPIRIC_REPROVE="0", **obeyed)
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")
    assert json.loads(learned.read_text(encoding="utf-8"))["keys"] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_calls_that_do_not_block_are_right_whatever_carries_them_out(run, family):
    done = run(family, 3, "6", source="started.c", MPIRIC_COLLECTIVES="rotate")
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr


@pytest.mark.parametrize("family", FAMILIES)
def test_calls_that_do_not_block_are_learnt(run, family, tmp_path):
    learned = tmp_path / "learned.json"
    done = run(
        family,
        2,
        "200",
        source="started.c",
        MPIRIC_COLLECTIVES="online",
        MPIRIC_LEARN_ONLY="iallreduce,ibcast",
        MPIRIC_POLICY_OUT=str(learned),
    )
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    keys = json.loads(learned.read_text(encoding="utf-8"))["keys"]
    assert {key["collective"] for key in keys if key["learning_calls"]} == {"iallreduce", "ibcast"}
    tried = [candidate for key in keys if len(key["candidates"]) > 1 for candidate in key["candidates"]]
    assert {"library"} < {candidate["name"] for candidate in tried}
    assert all(candidate["median_s"] > 0 for candidate in tried)


@pytest.mark.parametrize("family", FAMILIES)
def test_threads_call_collectives_at_once(run, family):
    done = run(family, 3, "6", source="thread_collectives.c", MPIRIC_COLLECTIVES="rotate")
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    done = run(family, 2, "20", source="thread_collectives.c", MPIRIC_COLLECTIVES="online")
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr


@pytest.mark.sweep
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("mode", ["rotate", "online"])
def test_thousands_of_communicators_come_and_go(run, family, mode):
    done = run(family, 2, "1", "errors", "3000", MPIRIC_COLLECTIVES=mode)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr


@pytest.mark.requires("debian-openmpi")
def test_ranks_that_wait_for_one_without_the_runtime_say_so(command, environment):
    arguments = ["timeout", "60"]
    arguments += command("openmpi", 2, "1", before=LACKING, MPIRIC_COLLECTIVES="online")
    with subprocess.Popen(
        arguments,
        env=environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as job:
        assert job.stderr
        message = next((line for line in job.stderr if "still waiting" in line), "")
        os.killpg(job.pid, signal.SIGTERM)
    assert message.startswith("mpiric: still waiting for ranks of the job in MPI_Init: all need LD_PRELOAD")


@pytest.mark.parametrize(
    ("family", "ranks", "level"),
    [
        *(pytest.param(*family.values, 2, "threads", marks=family.marks) for family in FAMILIES),
        # This number of rank orders takes minutes with another library on few cores.
        pytest.param(
            *("openmpi", 6, "single"), marks=[pytest.mark.requires("debian-openmpi"), pytest.mark.sweep]
        ),
    ],
)
def test_communicators_that_are_gone_leave_nothing_behind(run, family, ranks, level):
    tuned, plain = (
        run(family, ranks, "1500", "2", level, source="short_lived.c", MPIRIC_COLLECTIVES=mode)
        for mode in ("online", "off")
    )
    assert (tuned.returncode, tuned.stderr) == (0, ""), tuned.stderr
    assert int(tuned.stdout) - int(plain.stdout) < 2000  # KiB: a tenth of a communicator's memory


@pytest.mark.parametrize("family", FAMILIES)
def test_only_the_collectives_named_are_learnt(run, family, tmp_path):
    learned = tmp_path / "learned.json"
    online = {"MPIRIC_COLLECTIVES": "online", "MPIRIC_POLICY_OUT": str(learned)}
    done = run(family, 2, "40", **online, MPIRIC_LEARN_ONLY="bcast, allreduce")
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")
    keys = json.loads(learned.read_text(encoding="utf-8"))["keys"]
    assert {key["collective"] for key in keys} == {"bcast", "allreduce"}
    done = run(family, 2, "40", **online, MPIRIC_LEARN_ONLY="allredcue")
    assert "MPIRIC_LEARN_ONLY names no collective: allredcue" in done.stderr
    assert json.loads(learned.read_text(encoding="utf-8"))["keys"] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_what_needs_more_scratch_memory_than_it_may_have_is_the_librarys(run, family, tmp_path):
    learned = tmp_path / "learned.json"
    online = {"MPIRIC_COLLECTIVES": "online", "MPIRIC_POLICY_OUT": str(learned)}

    def tried(mib: str) -> set[str]:
        done = run(family, 2, "2000", "4096", source="repeats.c", **online, MPIRIC_SCRATCH_MIB=mib)
        assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")
        keys = json.loads(learned.read_text(encoding="utf-8"))["keys"]
        return {entry["name"] for key in keys for entry in key["candidates"]}

    # A candidate that is slow in the first rounds is eliminated before its times are kept.
    assert any("own:bruck_2" in tried("1") for _ in range(6))
    remaining = [tried("0")]
    while "own:pairwise" not in remaining[-1] and len(remaining) < 6:
        remaining.append(tried("0"))
    assert {"library", "own:pairwise"} <= remaining[-1]
    assert not any("own:bruck_2" in entry for entry in remaining)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_reproducible_sum_is_the_same_from_the_first_call_on(run, family, tmp_path):
    version = {"mpich": "4.0.2", "openmpi": "4.1.4"}[family]
    policy = tmp_path / "policy.txt"
    policy.write_text(
        f"mpiric-policy 1\nmpi {family} {version}\nchoose allreduce * * * * * 0 * own:ring\n",
        encoding="utf-8",
    )
    obeyed = {"MPIRIC_COLLECTIVES": "policy", "MPIRIC_POLICY": str(policy), "MPIRIC_REPRODUCIBLE": "1"}
    done = run(family, 4, *["8192"] * 40, source="../programs/order.c", **obeyed)
    assert done.returncode == 0, done.stderr
    digests = [line for line in done.stdout.splitlines() if line.startswith("allreduce")]
    assert len(digests) == 40
    plain = run(family, 4, "8192", source="../programs/order.c", MPIRIC_COLLECTIVES="off").stdout
    assert digests[0] not in plain.splitlines(), "the test would see nothing"
    assert set(digests) == {digests[0]}


@pytest.mark.requires("debian-openmpi")
def test_open_mpi_4_is_told_before_it_starts_that_there_will_be_choices(run_mpiric):
    command = ["run", "--dry-run", "--json", "--learn-ranks", "2", "--", "/usr/bin/mpirun.openmpi", "-n", "2"]
    answer = json.loads(run_mpiric(*command, "hostname").stdout)
    assert answer["env"]["OMPI_MCA_coll_tuned_use_dynamic_rules"] == "1"
    assert [fields for fields in answer["words"] if "OMPI_MCA_coll_tuned_use_dynamic_rules=1" in fields]

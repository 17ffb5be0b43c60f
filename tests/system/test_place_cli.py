"""`mpiric place` as scripts and people call it."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.machine import load_topology
from mpiric.model.errors import ExitCode

DATA = Path(__file__).parents[1] / "data"
BETZY = DATA / "machines/betzy.xml"


@pytest.fixture
def answer(run_mpiric):
    def placement_answer(*arguments: object) -> dict:
        done = run_mpiric("place", *arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return placement_answer


def test_the_json_names_rank_node_threads_and_numa_node(answer):
    plan = answer("--topology", BETZY, "--ranks", 4, "--threads", 2)
    assert plan["ranks"][0] == {"rank": 0, "node": 0, "threads": [[0, 128], [2, 130]], "numa": 0}
    assert [place["rank"] for place in plan["ranks"]] == [0, 1, 2, 3]


def test_the_json_holds_words_for_every_launcher(answer):
    plan = answer("--topology", "numa:2 core:4 pu:1", "--ranks", 2, "--threads", 2)
    names = {"openmpi4", "openmpi5", "hydra", "intelmpi", "srun", "aprun", "pals"}
    assert set(plan["launchers"]) == names
    for arguments in plan["launchers"].values():
        assert all(isinstance(word, str) for word in arguments["argv"])
        assert arguments["env"]["OMP_NUM_THREADS"] == "2"


def test_a_recorded_measurement_decides_about_the_half_core(answer):
    table = DATA / "bandwidth/betzy.json"
    plan = answer("--topology", BETZY, "--ranks", 8, "--threads", 8, "--bandwidth", table)
    assert [thread[0] for thread in plan["ranks"][0]["threads"]] == [0, 2, 4, 6, 8, 10, 12, 14]
    assert plan["saturation"]["cores"] == 8
    assert plan["saturation"]["spacing"] == 2


def test_nodes_are_named_as_slurm_names_them(answer):
    argv = answer("--topology", "core:4", "--ranks", 8, "--hosts", "n[1-2]")["launchers"]["hydra"]["argv"]
    assert argv[argv.index("-hosts") + 1] == "n1,n2"


def test_a_file_may_hold_a_description(answer, tmp_path):
    (tmp_path / "node").write_text("pack:2 core:4\n")
    assert answer("--topology", tmp_path / "node", "--ranks", 8)["nodes"] == 1


def test_the_machine_is_planned_without_a_description(answer):
    assert answer("--ranks", 1)["nodes"] == 1


def test_rankfiles_and_a_picture_are_written(run_mpiric, tmp_path):
    done = run_mpiric(
        *("place", "--topology", BETZY, "--ranks", 64, "--bandwidth-bound"),
        *("--write", tmp_path / "out", "--svg", tmp_path / "plan.svg"),
    )
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "out/openmpi4.rankfile").read_text().splitlines()) == 64
    drawn = ElementTree.fromstring((tmp_path / "plan.svg").read_text())
    boxes = [box for box in drawn.iter("{http://www.w3.org/2000/svg}rect") if box.get("rx")]
    assert len(boxes) == 128


def test_a_single_launcher_can_be_asked_for(run_mpiric):
    done = run_mpiric("place", "--topology", "core:4 pu:1", "--ranks", 4, "--launcher", "hydra")
    assert done.stdout.splitlines()[-1].endswith("mpiexec -n 4 -bind-to core -map-by core")
    assert "srun" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ((), "--ranks 8"),
        (("--ranks", 1, "--", "true"), "--verify"),
        (("--ranks", 9, "--nodes", 1, "--topology", "core:4 pu:1"), "--nodes 3"),
        (("--ranks", 1, "--launcher", "x"), "hydra"),
        (("--ranks", 1, "--bandwidth", BETZY), "--measure"),
        (("--ranks", 1, "--measure", "--topology", "core:4 pu:1"), "--topology"),
        (("--ranks", 1, "--topology", "/dev/null"), "lstopo"),
        (("--ranks", 1, "--topology", "core:9999999"), "one node"),
        (("--ranks", 2, "--hosts", "a,a"), "once"),
        (("--verify", "--limit", "nan", "--", "true"), "90s"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence_with_a_hint(run_mpiric, arguments, hint):
    done = run_mpiric("place", *arguments)
    assert done.returncode == ExitCode.USAGE
    assert "Traceback" not in done.stderr
    assert hint in done.stderr.splitlines()[-1]


def test_the_bandwidth_of_this_machine_is_measured_and_decides(answer):
    plan = answer("--measure", "--ranks", 1)
    rows = plan["bandwidth"]
    assert {row["domain"] for row in rows} >= {"numa"}
    assert all(row["mb_s"] > 0 for row in rows)
    assert plan["saturation"]["cores"] in {row["cores"] for row in rows}


def test_a_rankfile_is_said_to_other_launchers_and_hosts_are_written_for_each(run_mpiric, tmp_path):
    machine = ("--topology", "pack:2 numa:1 core:4 pu:1")
    wish = ("--ranks", 4, "--threads", 2, "--hosts", "a,b")
    run_mpiric("place", *machine, *wish, "--write", tmp_path)
    assert (tmp_path / "openmpi5.hosts").read_text() == "a slots=2\nb slots=2\n"
    assert (tmp_path / "hydra.hosts").read_text() == "a:2\nb:2\n"
    assert (tmp_path / "srun.hosts").read_text() == "a\nb\n"
    rankfile = ("--rankfile", tmp_path / "openmpi5.rankfile")
    target = json.loads(run_mpiric("place", *machine, *wish, "--json").stdout)
    again = json.loads(run_mpiric("place", *machine, *rankfile, "--threads", 2, "--json").stdout)
    assert again["ranks"] == target["ranks"]
    assert again["launchers"]["hydra"] == target["launchers"]["hydra"]


@pytest.mark.parametrize(
    ("description", "pus"),
    [
        ("pack:2 core:4", 8),
        ("numa:2 core:4", 8),
        ("core:6", 6),
        ("pack:2 [numa] core:4", 8),
        ("pack:2 core:4 pu:2", 16),
        ("Package:2 NUMANode:2 L3Cache:1 Core:4 PU:2", 32),
        ("4", 4),
    ],
)
def test_a_description_may_leave_out_what_goes_without_saying(description, pus):
    assert len(load_topology(LocalHost(), description).pus) == pus

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.situations import MPIS, situation

from mpiric.host.facts.local import LocalHost
from mpiric.knobs import all_knobs
from mpiric.lab.render import render
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MismatchError, MpiricError, NoRoomError
from mpiric.model.evidence import Evidence, Fingerprint, Recipe, Verdict
from mpiric.model.knob import Try
from mpiric.model.policy import Line, Policy, Span
from mpiric.model.situation import Allowed, Tuner
from mpiric.tuning.policy_files import parse_flat
from mpiric.tuning.recipe import parse_recipe, render_recipe
from mpiric.workflows.policies import (
    check_mpi,
    check_writable,
    exporting,
    lay_out,
    read_policy,
    site_name,
    site_policy,
    with_policy,
)

SPEC = Path(__file__).parents[4] / "spec" / "formats"
HERE = situation(next(library for library in MPIS if library.label == "mpich-5.0.2"))
POLICY = Policy("mpich", "5.0.2", (Line("bcast", "library:binomial"),))


def test_policies_of_both_forms_are_read_and_laid_out_as_text(tmp_path: Path) -> None:
    learned = read_policy(SPEC / "policy.example.json")
    assert [line.candidate for line in learned.lines] == ["library:ring"]
    path = lay_out(learned, tmp_path)
    assert parse_flat(Path(path).read_bytes(), path) == learned
    assert lay_out(learned, tmp_path) == path
    assert lay_out(POLICY, tmp_path) != path


def test_a_policy_of_another_library_is_refused() -> None:
    mpi = HERE.mpi
    check_mpi(POLICY, replace(mpi, version="5.1"), "p")
    with pytest.raises(MismatchError, match=r"mpich 5\.0\.2"):
        check_mpi(POLICY, replace(mpi, version="4.0.2"), "p")


def test_a_sites_policy_is_found_by_its_name(tmp_path: Path) -> None:
    mpi = replace(HERE.mpi, version="5.0.2")
    assert site_policy(mpi, {"MPIRIC_POLICIES": str(tmp_path)}) is None
    path = tmp_path / site_name("mpich", "5.0.2")
    path.write_text("{}")
    assert site_policy(mpi, {"MPIRIC_POLICIES": str(tmp_path)}) == path


def test_the_knob_gives_the_ranks_runtime_and_policy() -> None:
    case = replace(HERE, tuner=Tuner("/lib/libmpiric.so", "/p.policy"))
    launch = render(Configuration.of({"collectives": "policy"}), case)
    line = launch.shell_line()
    assert "MPIRIC_COLLECTIVES policy" in line or "MPIRIC_COLLECTIVES=policy" in line
    assert "/p.policy" in line
    assert "/lib/libmpiric.so" in line
    with pytest.raises(MismatchError):
        render(Configuration.of({"collectives": "policy"}), replace(case, tuner=Tuner("/lib/libmpiric.so")))


@pytest.mark.parametrize("value", ["policy", "online"])
@pytest.mark.parametrize(("label", "is_set"), [("openmpi-4.1.4", True), ("openmpi-5.0.11", False)])
def test_open_mpi_4_gets_the_switch_for_dynamic_rules_before_its_start(
    label: str, is_set: bool, value: str
) -> None:
    openmpi = situation(next(library for library in MPIS if library.label == label))
    case = replace(openmpi, tuner=Tuner("/lib/libmpiric.so", "/p.policy"))
    line = render(Configuration.of({"collectives": value}), case).shell_line()
    assert ("coll_tuned_use_dynamic_rules" in line) is is_set


def test_intel_mpi_gets_the_choices_of_a_policy_before_its_start(tmp_path: Path) -> None:
    intel = situation(next(library for library in MPIS if library.implementation == "intelmpi"))
    ranks = intel.job.ranks
    assert ranks
    lines = (
        Line("bcast", "library:knomial", ranks=Span(ranks, ranks), end=1024),
        Line("bcast", "library:ring", ranks=Span(ranks + 1, None)),
        Line("reduce", "library:binomial"),
        Line("barrier", "own:dissemination"),
    )
    policy = Policy("intelmpi", intel.mpi.version, lines)
    reproducible = with_policy(Tuner("/l.so"), policy, intel, tmp_path, LocalHost(), reproducible=True)
    assert dict(reproducible.exported).keys() == {"I_MPI_ADJUST_BCAST"}
    case = replace(intel, tuner=with_policy(Tuner("/l.so"), policy, intel, tmp_path, LocalHost()))
    launch = render(Configuration.of({"collectives": "policy"}), case)
    assert "8:0-1023;0:1024-2147483647" in launch.shell_line()
    assert "I_MPI_ADJUST_REDUCE" in launch.shell_line()
    assert "I_MPI_ADJUST_BARRIER" not in launch.shell_line()


def test_the_librarys_own_form_needs_no_runtime(tmp_path: Path) -> None:
    policy = Policy("openmpi", "4.1.4", (Line("bcast", "library:chain"),))
    tuner = exporting(Tuner("/lib/libmpiric.so"), policy, tmp_path, LocalHost())
    assert parse_flat(Path(tuner.exported_policy).read_bytes(), "exported") == policy
    openmpi = situation(next(library for library in MPIS if library.label == "openmpi-4.1.4"))
    launch = render(Configuration.of({"collectives": "exported"}), replace(openmpi, tuner=tuner))
    rules = dict(tuner.exported)["OMPI_MCA_coll_tuned_dynamic_rules_filename"]
    assert Path(rules).is_file()
    assert rules in launch.shell_line()
    assert "libmpiric" not in launch.shell_line()


@pytest.mark.parametrize("implementation", ["openmpi", "mvapich"])
def test_a_policy_that_chooses_nothing_or_cannot_be_expressed_is_not_exported(
    implementation: str, tmp_path: Path
) -> None:
    line = Line("bcast", "library" if implementation == "openmpi" else "library:chain")
    tuner = exporting(Tuner("/lib/l.so"), Policy(implementation, "4", (line,)), tmp_path, LocalHost())
    assert tuner == Tuner("/lib/l.so")


@pytest.mark.parametrize(
    ("rounding", "tuner", "values"),
    [
        (True, Tuner("/l.so"), ("online",)),
        (True, Tuner("/l.so", "/p"), ("policy", "online")),
        (True, Tuner("/l.so", "/p", (("A", "b"),), "/e"), ("policy", "exported", "online")),
        (False, Tuner("/l.so"), ("online",)),
        (False, Tuner("/l.so", "/p", (("A", "b"),), "/e"), ("policy", "exported")),
        (True, Tuner(), ()),
    ],
)
def test_a_learned_policy_is_tried_in_each_form(
    rounding: bool, tuner: Tuner, values: tuple[str, ...]
) -> None:
    case = replace(HERE, tuner=tuner, allowed=Allowed(rounding=rounding))
    answer = all_knobs()["collectives"].consider(case)
    assert (answer.values if isinstance(answer, Try) else ()) == values


def test_learning_leaves_reductions_alone_unless_rounding_may_change() -> None:
    for rounding in (False, True):
        case = replace(HERE, tuner=Tuner("/lib/libmpiric.so"), allowed=Allowed(rounding=rounding))
        line = render(Configuration.of({"collectives": "online"}), case).shell_line()
        assert ("MPIRIC_REPRODUCIBLE" in line) is not rounding


def recipe(*lines: str) -> Recipe:
    evidence = Evidence(Configuration(), Verdict.FASTER, 1.2, 1.1, 1.3, ((2.0, 1.0),), 0.99, 0.01, "decided")
    return Recipe(
        name="app",
        configuration=Configuration.of({"collectives": "policy"}),
        fingerprint=Fingerprint({}, {}, {}),
        evidence=evidence,
        command=("mpiexec", "app"),
        created="2026-01-01T00:00:00Z",
        policy=lines,
    )


def test_a_recipe_carries_its_policy_as_data() -> None:
    lines = tuple((SPEC / "policy.example.txt").read_text().splitlines())
    again = parse_recipe(render_recipe(recipe(*lines)).encode(), "r", lambda *_: "")
    assert again.policy == lines


@pytest.mark.parametrize("line", ["choose bcast * * * * * 0 * /tmp/evil.so", "set LD_PRELOAD /tmp/x"])
def test_a_recipes_policy_can_only_choose_algorithms(line: str) -> None:
    text = render_recipe(recipe("mpiric-policy 1", "mpi mpich 5.0.2", line))
    with pytest.raises(MpiricError, match="line 3"):
        parse_recipe(text.encode(), "r", lambda *_: "")


def test_the_example_of_the_learned_form_is_json() -> None:
    assert json.loads((SPEC / "policy.example.json").read_text())["mpiric_policy"] == 2


@pytest.mark.parametrize("name", ["none/learned.json", "file/learned.json", "directory"])
def test_the_path_of_the_learned_policy_is_checked_before_the_run(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "directory").mkdir()
    with pytest.raises(NoRoomError, match="cannot write"):
        check_writable(tmp_path / name)
    check_writable(tmp_path / "directory" / "learned.json")

"""Knob values become launches in the words of whoever has them."""

from dataclasses import replace
from itertools import product

import pytest
from tests.support.situations import BY_LABEL, situation

from mpiric import knobs
from mpiric.lab.render import as_variables, can_be_written, completed, render
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MismatchError
from mpiric.model.job import LaunchOption, Meaning


def chosen(**values: str) -> Configuration:
    return Configuration.of({name.replace("_", "-"): value for name, value in values.items()})


def test_the_empty_configuration_is_the_users_own_command() -> None:
    case = situation(BY_LABEL["mpich-5.0.2"])
    launch = render(Configuration(), case)
    assert (launch.argv, dict(launch.environment), launch.settings) == (case.job.argv, {}, ())


def test_binding_is_the_launchers_word_and_malloc_the_systems() -> None:
    launch = render(chosen(binding="core", malloc="keep-memory"), situation(BY_LABEL["mpich-5.0.2"]))
    assert launch.argv[1:3] == ("-bind-to", "core")
    assert launch.environment["MALLOC_MMAP_MAX_"] == "0"


def test_a_value_brings_its_required_settings() -> None:
    case = situation(BY_LABEL["openmpi-5.0.11"], ranks=4)
    assert completed(chosen(waiting="yield"), case).as_dict()["binding"] == "none"


def test_a_chosen_knob_is_not_brought_otherwise() -> None:
    case = situation(BY_LABEL["openmpi-5.0.11"], ranks=4)
    assert completed(chosen(waiting="yield", binding="core"), case).as_dict()["binding"] == "core"


def test_under_another_library_other_knobs_use_its_settings() -> None:
    case = situation(BY_LABEL["mpich-5.0.2"], ranks=4, others=(BY_LABEL["intelmpi-2021.19"],))
    launch = render(chosen(mpi="intelmpi-2021.19", waiting="yield"), case)
    assert launch.argv[0] == "/opt/intelmpi-2021.19/bin/mpiexec"
    assert not [name for name in launch.environment if name.startswith("MPIR_CVAR")]


def test_a_value_without_a_setting_here_is_refused_by_name() -> None:
    with pytest.raises(MismatchError, match="single-copy=knem"):
        render(chosen(single_copy="knem"), situation(BY_LABEL["mpich-5.0.2"]))


def test_defaults_of_a_site_are_variables_only() -> None:
    variables = as_variables(chosen(binding="core"), situation(BY_LABEL["openmpi-5.0.11"])).environment
    assert variables
    assert all(name.startswith(("PRTE_MCA_", "OMPI_MCA_")) for name in variables)


def test_a_sanitizer_of_the_program_stays_before_preloaded_libraries() -> None:
    case = situation(BY_LABEL["mpich-5.0.2"], libraries=("/usr/lib/libc.so.6", "/usr/lib/libasan.so.8"))
    launch = render(chosen(allocator="jemalloc"), case)
    assert "/usr/lib/libasan.so.8:/usr/lib/libjemalloc.so.2" in launch.argv
    assert not [word for word in render(chosen(binding="core"), case).argv if "libasan" in word]


OPEN_MPI, MPICH = BY_LABEL["openmpi-5.0.11"], BY_LABEL["mpich-5.0.2"]


@pytest.mark.parametrize(
    ("library", "other", "binding"),
    [(OPEN_MPI, MPICH, "core"), (MPICH, OPEN_MPI, "none"), (OPEN_MPI, BY_LABEL["openmpi-4.1.4"], None)],
)
def test_another_library_gets_the_binding_that_ranks_had_by_default(library, other, binding) -> None:
    case = situation(library, others=(other,))
    assert completed(chosen(mpi=other.label), case).as_dict().get("binding") == binding


def test_a_binding_of_the_launch_line_is_translated_instead() -> None:
    option = LaunchOption(("--bind-to", "none"), Meaning.BINDING, ("none",))
    case = situation(OPEN_MPI, others=(MPICH,), options=(option,))
    assert "binding" not in completed(chosen(mpi=MPICH.label), case).as_dict()
    assert knobs.is_binding_kept(MPICH.label, case)


def test_unknown_defaults_are_reported() -> None:
    intel = BY_LABEL["intelmpi-2021.19"]
    assert not knobs.is_binding_kept(MPICH.label, situation(intel, others=(MPICH,)))
    assert knobs.is_binding_kept(MPICH.label, situation(MPICH, others=(intel,)))


def test_a_setting_that_needs_mpi_does_not_apply_to_a_program_without_it() -> None:
    case = situation(MPICH, others=(OPEN_MPI,))
    without = replace(case, observation=replace(case.observation, uses_mpi=False))
    assert [name for name in knobs.to_try(case) if knobs.all_knobs()[name].needs_mpi]
    assert not [name for name in knobs.to_try(without) if knobs.all_knobs()[name].needs_mpi]
    assert "malloc" in knobs.to_try(without)


def test_by_another_route_the_other_knobs_are_options_of_its_launcher() -> None:
    case = situation(BY_LABEL["mpich-5.0.2"], ranks=4, nodes=2)
    case = replace(case, job=replace(case.job, dialect="srun", launcher_words=("srun",)))
    launch = render(chosen(launch_route="mpirun", mapping="node-round-robin"), case)
    assert launch.argv[0] == case.mpi.launcher
    assert not [word for word in launch.argv if word.startswith("--distribution")]


@pytest.mark.parametrize("label", ["mpich-5.0.2", "openmpi-5.0.11", "intelmpi-2021.19"])
@pytest.mark.parametrize("dialect", ["srun", ""])
def test_valid_values_are_rendered(label: str, dialect: str) -> None:
    case = situation(BY_LABEL[label], ranks=4, nodes=2)
    if dialect:
        case = replace(case, job=replace(case.job, dialect=dialect, launcher_words=(dialect,)))
    by_name = knobs.all_knobs()
    for route, name in product(by_name["launch-route"].domain.values, ("mapping", "binding")):
        for value in by_name[name].domain.values:
            configuration = Configuration.of({"launch-route": route, name: value})
            if can_be_written(configuration, case):
                assert render(configuration, case).argv

"""`mpiric env`: the output of each shell is evaluated by that shell."""

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.replay_host import ReplayHost
from tests.support.situations import BY_LABEL

from mpiric.cli import env
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.workflows import defaults
from mpiric.workflows.defaults import EnvRequest, defaults_here

RECORDED = Path(__file__).parents[2] / "data/machines/debian12.json"
ODD = {
    "PLAIN": "^ofi",
    "EMPTY": "",
    "SPACES": " a  b ",
    "QUOTES": """it's "so" `x` $HOME \\ !1""",
    "GLOB": "* ? [a] ~ # ;",
    "BRACES": "{a,b} {threads}",
}
SHELLS = {
    "bash": ["bash", "-c"],
    "fish": ["fish", "--no-config", "-c"],
    "csh": ["tcsh", "-f", "-c"],
}


class Recorded(ReplayHost):
    """The recorded machine with another environment and no scheduler."""

    def __init__(self, recording, variables):
        super().__init__(recording)
        self.variables = variables

    @property
    def environ(self):
        return self.variables


@pytest.fixture
def defaults_of(monkeypatch):
    """Return a function that yields the defaults on a recorded machine with two MPI libraries."""

    def answer(ranks=64, libraries=("mpich-5.0.2", "openmpi-5.0.11"), variables=None, **more):
        monkeypatch.setattr(defaults.mpis, "find_mpis", lambda _: tuple(BY_LABEL[name] for name in libraries))
        host = ReplayHost.load(RECORDED)
        host = Recorded(host.recording, {"HOME": "/home/user", **(variables or {})})
        return defaults_here(EnvRequest((), "/home/user", variables or {}, ranks, **more), host)

    return answer


def variables_of(answer):
    return env._variables(answer)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_reads_back_every_value(shell):
    if shutil.which(SHELLS[shell][0]) is None:
        pytest.skip(f"{SHELLS[shell][0]} is not installed")
    script = "\n".join([*env.settings_in(shell, ODD), "env -0"])
    done = subprocess.run([*SHELLS[shell], script], capture_output=True, text=True, check=True)
    values = dict(entry.partition("=")[::2] for entry in done.stdout.split("\0") if entry)
    assert {name: values.get(name) for name in ODD} == ODD


@pytest.mark.parametrize(
    ("shell", "evaluate"),
    [
        ("bash", ["bash", "-c", 'eval "$(cat $F)"; env -0']),
        ("bash", ["sh", "-c", "eval $(cat $F); env -0"]),
        ("csh", ["tcsh", "-f", "-c", 'eval "`cat $F`"; env -0']),
        ("fish", ["fish", "--no-config", "-c", "cat $F | source; env -0"]),
    ],
)
def test_the_documented_way_to_evaluate_sets_all_variables(shell, evaluate, tmp_path):
    if shutil.which(evaluate[0]) is None:
        pytest.skip(f"{evaluate[0]} is not installed")
    values = {"A": "^ofi", "B": "two", "C": "1"}
    (tmp_path / "settings").write_text("\n".join(env.settings_in(shell, values)) + "\n")
    surroundings = {**os.environ, "F": str(tmp_path / "settings")}
    done = subprocess.run(evaluate, env=surroundings, capture_output=True, text=True, check=True)
    assert {f"{name}={value}" for name, value in values.items()} <= set(done.stdout.split("\0"))


def test_a_dockerfile_quotes_values():
    assert list(env.settings_in("dockerfile", {"A": 'a "b" $c \\'})) == ['ENV A="a \\"b\\" \\$c \\\\"']


def test_a_workflow_file_has_plain_lines_and_refuses_line_breaks():
    assert list(env.settings_in("github", {"A": "^ofi b"})) == ["A=^ofi b"]
    with pytest.raises(MpiricError, match="line break"):
        list(env.settings_in("github", {"A": "a\nB=c"}))


def test_a_modulefile_is_valid_tcl():
    if shutil.which("tclsh") is None:
        pytest.skip("tclsh is not installed")
    body = "\n".join(env.settings_in("modulefile", ODD))
    script = f'proc setenv {{n v}} {{ puts -nonewline "$n=$v\\0" }}\n{body}'
    done = subprocess.run(["tclsh"], input=script, env={}, capture_output=True, text=True, check=True)
    assert dict(entry.split("=", 1) for entry in done.stdout.split("\0") if entry) == ODD


def test_all_installed_libraries_are_served(defaults_of):
    values = variables_of(defaults_of())
    assert values["MPIR_CVAR_POLLS_BEFORE_YIELD"] == "10"
    assert values["OMPI_MCA_mtl"] == "^ofi"


def test_nothing_is_printed_for_a_library_that_is_not_installed(defaults_of):
    values = variables_of(defaults_of(libraries=("openmpi-5.0.11",)))
    assert not [name for name in values if name.startswith("MPIR_")]


def test_without_an_mpi_library_only_threads_are_set(defaults_of):
    assert set(variables_of(defaults_of(libraries=()))) >= {"OMP_NUM_THREADS", "MKL_NUM_THREADS"}
    assert not [
        name for name in variables_of(defaults_of(libraries=())) if name.startswith(("MPIR_", "OMPI_"))
    ]


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"])
def test_a_setting_of_the_user_is_not_touched(defaults_of, name):
    values = variables_of(defaults_of(variables={name: "7"}))
    assert not set(values) & {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}
    assert "OMPI_MCA_mtl" in values


def test_a_variable_that_scripts_use_for_other_purposes_is_neither_set_nor_decisive(defaults_of):
    values = variables_of(defaults_of(variables={"NCPUS": "64"}))
    assert "NCPUS" not in values
    assert values["OMP_NUM_THREADS"] == "1"


def test_a_transport_chosen_by_the_user_keeps_the_networks(defaults_of):
    answer = defaults_of(variables={"OMPI_MCA_pml": "cm"})
    assert "OMPI_MCA_mtl" not in variables_of(answer)
    assert "OMPI_MCA_pml=cm" in {default.users_setting for default in answer}


def test_a_file_of_parameters_in_the_home_directory_counts_as_the_users_setting(defaults_of, monkeypatch):
    monkeypatch.setattr(
        Recorded,
        "read_text",
        lambda self, path: (
            "mtl = ofi\n" if path.endswith("mca-params.conf") else ReplayHost.read_text(self, path)
        ),
    )
    assert "OMPI_MCA_mtl" not in variables_of(defaults_of())


def test_several_nodes_keep_their_networks(defaults_of):
    assert "OMPI_MCA_mtl" not in variables_of(defaults_of(nodes=2))


def test_the_nodes_of_an_allocation_count(defaults_of):
    slurm = {"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_CPUS_PER_NODE": "2(x2)"}
    assert "OMPI_MCA_mtl" not in variables_of(defaults_of(variables=slurm))


def test_ranks_per_node_give_the_number_of_ranks(defaults_of):
    assert variables_of(defaults_of(ranks=None, ranks_per_node=64)) == variables_of(defaults_of())


def test_the_number_of_ranks_is_required(defaults_of):
    with pytest.raises(MpiricError, match="number of ranks") as error:
        defaults_of(ranks=None)
    assert "-n 8" in error.value.hint


def test_an_unknown_library_is_refused_with_the_installed_ones(defaults_of):
    with pytest.raises(NotFoundError, match="'mvapich'") as error:
        defaults_of(mpi="mvapich")
    assert "mpich-5.0.2" in error.value.hint


def test_libraries_that_need_different_values_of_a_variable_get_none(defaults_of):
    first, second = defaults_of(libraries=("mpich-5.0.2",))[0], defaults_of(libraries=("mpich-5.0.2",))[0]
    second = replace(second, library="other", variables=dict.fromkeys(first.variables, "x"))
    assert defaults._without_conflicts([first, second]) == ()


def test_json_holds_variables_and_reasons(defaults_of, monkeypatch):
    monkeypatch.setattr(env, "defaults_here", lambda *_: defaults_of())
    printed = json.loads(CliRunner().invoke(env.command, ["-n", "64", "--json"]).stdout)
    assert printed["variables"] == variables_of(defaults_of())
    assert all(entry["reason"] and entry["measured"] for entry in printed["settings"])


def test_the_explanation_names_libraries_reason_and_the_users_setting(defaults_of, monkeypatch):
    monkeypatch.setattr(env, "defaults_here", lambda *_: defaults_of(variables={"OMPI_MCA_pml": "cm"}))
    text = CliRunner().invoke(env.command, ["-n", "64", "--explain"]).stdout
    assert "network-library=without-ofi (openmpi-5.0.11)" in text
    assert "not set: you have set OMPI_MCA_pml=cm" in text
    assert "reason:" in text
    assert "measured:" in text

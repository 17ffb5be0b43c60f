"""Variables and libraries that place or multiply the threads of ranks are named instead of their effects."""

import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.support.records import rank, record
from tests.support.situations import machine, situation

from mpiric.model.job import LaunchOption, Meaning
from mpiric.model.placement import ProcessSeen, ThreadSeen, unlimited_pool
from mpiric.profile.analyse import analyse
from mpiric.workflows.placement import verify
from mpiric.workflows.placement.verify import judge_record, variables_that_bind
from mpiric.workflows.profile import doctor
from mpiric.workflows.profile.profile import _name_binding_variable

HERE = machine(cores=4)
ON_ONE = record(*(rank(n, 1.0, facts={"host": "n1", "affinity": "0"}) for n in range(2)))


def job(*options: LaunchOption, environment=None, **changed):
    return replace(situation(options=options).job, environment=environment or {}, **changed)


def advice_of(launch):
    advice = analyse(ON_ONE, "CMD", {"n1": 4}).advice
    parsed = SimpleNamespace(job=launch, machine=HERE)
    named = _name_binding_variable(advice, ON_ONE, parsed)
    return next(item for item in named if item.finding.id == "ranks-share-a-cpu")


def test_the_advice_of_a_profile_names_the_variable():
    item = advice_of(job(environment={"OMP_PROC_BIND": "true"}))
    assert item.finding.says == "OMP_PROC_BIND=true binds several ranks to the same cores."
    assert item.commands == ()


def test_the_advice_of_a_profile_without_a_variable_is_unchanged():
    assert advice_of(job()).finding.says.startswith("Several ranks are bound to the same CPU")


def test_the_placement_of_a_record_names_the_variable():
    launch = job(environment={"GOMP_CPU_AFFINITY": "0"})
    (finding,) = [item for item in judge_record(ON_ONE, HERE, launch) if item.id == "ranks-overlap"]
    assert finding.fix.startswith("unset GOMP_CPU_AFFINITY,")


def test_a_variable_on_the_command_line_counts():
    option = LaunchOption(("-x", "OMP_PLACES=cores"), Meaning.ENVIRONMENT, ("OMP_PLACES", "cores"))
    assert variables_that_bind(job(option)) == "OMP_PLACES=cores"


@pytest.mark.parametrize(
    "changed",
    [
        {"binding_wrapper": "taskset -c 0"},
        {"prefix": ("taskset", "-c", "0")},
    ],
)
def test_a_command_that_binds_its_ranks_itself_names_no_variable(changed):
    assert variables_that_bind(job(environment={"OMP_PROC_BIND": "true"}, **changed)) == ""


def test_a_list_of_cpus_on_the_command_line_names_no_variable():
    option = LaunchOption(("-bind-to", "user:0,0"), Meaning.BINDING, ("user:0,0",))
    assert variables_that_bind(job(option, environment={"OMP_PROC_BIND": "true"})) == ""


def test_the_blas_of_numpy_counts_as_a_library_of_a_python_program(monkeypatch):
    files = {
        "/opt/venv/lib": ("python3.11", "pkgconfig"),
        "/opt/venv/lib/python3.11/site-packages/numpy.libs": ("libscipy_openblas64_-1.so",),
    }
    host = SimpleNamespace(list_dir=lambda path: files.get(path, ()))
    monkeypatch.setattr(doctor, "libraries_of_program", lambda *_: ())
    monkeypatch.setattr(doctor, "program_path", lambda *_: "/opt/venv/bin/python3")
    parsed = SimpleNamespace(job=job())
    libraries = doctor._thread_libraries(parsed, host)
    assert unlimited_pool(libraries, {}).variable == "OPENBLAS_NUM_THREADS"


def seen(pid, threads, launcher="launcher 1", cpus=(0,), used_s=1.0):
    working = tuple(ThreadSeen(pid + n, "app", cpus, cpus[0], used_s) for n in range(threads))
    return ProcessSeen(pid, 0, "/bin/app", working, cpus, job=launcher)


ONE_RANK = record(rank(0, 1.0, facts={"host": "n1", "affinity": "0", "process": "7"}))


def ids(looks):
    return {finding.id: finding for finding in judge_record(ONE_RANK, HERE, job(), looks=looks)}


def test_threads_that_are_joined_before_the_end_are_judged_while_they_work():
    assert "threads-stacked" not in ids([])
    assert "threads-stacked" in ids([(seen(7, 1),), (seen(7, 3),), (seen(7, 1),)])


def test_another_job_on_the_same_cores_is_named():
    looks = [(seen(7, 1), seen(90, 1, "launcher 80", used_s=used_s)) for used_s in (1.0, 1.5)]
    assert "launcher 80" in ids(looks)["jobs-overlap"].evidence


def test_an_idle_job_on_the_same_cores_is_not_named():
    looks = [(seen(7, 1), seen(90, 1, "launcher 80"))] * 2
    assert "jobs-overlap" not in ids(looks)


def test_other_ranks_of_the_same_launch_are_no_other_job():
    assert "jobs-overlap" not in ids([(seen(7, 1), seen(90, 1))])


def test_looks_are_taken_while_a_command_runs(monkeypatch):
    came = threading.Event()
    monkeypatch.setattr(verify, "_FIRST_S", 0.001)
    monkeypatch.setattr(verify, "see_jobs", lambda _: (came.set(), (seen(7, 1),))[1])
    with verify.looking(None) as looks:
        assert came.wait(60)
    assert looks
    assert looks[0] == (seen(7, 1),)


def test_the_threads_of_a_record_are_explained_by_the_library():
    facts = {"host": "n1", "affinity": "0-3"}
    facts |= {
        f"thread.{number}": "app cpu=0 affinity=0-3 user_ticks=100 system_ticks=0" for number in range(4)
    }
    ranks = record(*(rank(n, 1.0, facts=facts) for n in range(2)))
    findings = {item.id: item for item in judge_record(ranks, HERE, job(), ["/usr/lib/libopenblas.so.0"])}
    assert findings["oversubscribed"].fix.startswith("OPENBLAS_NUM_THREADS=2;")

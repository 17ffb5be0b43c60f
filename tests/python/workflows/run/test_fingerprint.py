from mpiric.model.evidence import Fingerprint
from mpiric.workflows.run.recipe_choice import differences, fits

HERE = Fingerprint(
    {"cpu": "icelake", "cores": "2"},
    {"implementation": "openmpi", "version": "5.0.11", "abi": "openmpi"},
    {"name": "lmp", "hash": "abc", "ranks": "2", "launcher": "openmpi5"},
)


def _changed(**changes: str) -> Fingerprint:
    parts = {"machine": dict(HERE.machine), "mpi": dict(HERE.mpi), "program": dict(HERE.program)}
    for name, value in changes.items():
        part, field = name.split("__")
        parts[part][field] = value
    return Fingerprint(**parts)


def test_the_same_place_has_no_differences() -> None:
    assert differences(HERE, HERE) == ()
    assert fits(HERE, HERE) == 0


def test_another_machine_warns() -> None:
    changes = differences(_changed(machine__cpu="zen4"), HERE)
    assert [(d.field, d.then, d.now, d.refuses) for d in changes] == [
        ("machine.cpu", "zen4", "icelake", False)
    ]


def test_another_implementation_refuses() -> None:
    then = _changed(mpi__implementation="mpich", machine__cpu="zen4")
    assert [difference.refuses for difference in differences(then, HERE)] == [True, False]
    assert fits(then, HERE) is None


def test_another_minor_version_warns_and_another_major_version_refuses() -> None:
    assert differences(_changed(mpi__version="5.0.1"), HERE)[0].refuses is False
    assert differences(_changed(mpi__version="4.1.4"), HERE)[0].refuses is True


def test_a_field_that_is_only_on_one_side_is_a_difference() -> None:
    changes = differences(_changed(machine__nics="ib0"), HERE)
    assert str(changes[0]) == "machine.nics: ib0 when tuned, none now"


def test_fewer_differences_fit_better() -> None:
    one_difference = fits(_changed(machine__cpu="zen4"), HERE)
    two_differences = fits(_changed(machine__cpu="zen4", machine__cores="64"), HERE)
    assert one_difference is not None
    assert two_differences is not None
    assert one_difference > two_differences


def test_a_field_of_the_machine_that_an_older_recipe_does_not_know_says_nothing() -> None:
    now = Fingerprint({**HERE.machine, "networks": "eth0 ib0"}, HERE.mpi, HERE.program)
    assert differences(HERE, now) == ()
    assert str(differences(_changed(machine__networks="eth0 hsn0"), now)[0]) == (
        "machine.networks: eth0 hsn0 when tuned, eth0 ib0 now"
    )

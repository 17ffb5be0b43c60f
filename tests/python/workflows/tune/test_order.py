"""Order of a tune's knobs: knobs that helped programs of the same class in this store come first."""

from dataclasses import replace
from datetime import datetime, timezone

import pytest
from tests.support.behaviours import ALLREDUCE, CHURN, COMPUTES, HALO, behaviour, doing
from tests.support.situations import situation

from mpiric.tuning.store import Store
from mpiric.workflows.tune.space import SPACE, in_order, program_class, requested_space
from mpiric.workflows.tune.state import TuneRequest

ALLOCATES = doing(situation(), CHURN)


@pytest.fixture
def request_of(tmp_path):
    return lambda **options: TuneRequest(("mpiexec", "./app"), "/home/u", {}, store=tmp_path, **options)


def tuned(request, case, *settings, verdict="faster"):
    """A tune in the store that came to its end with an answer."""
    with Store(request.store).create("app", "job", ("./app",)) as log:
        log.append(SPACE, {"class": program_class(case)})
        result = {
            "verdict": verdict,
            "tried": ["malloc", "allocator", "binding"],
            "changes": [{"knob": knob} for knob in settings],
        }
        log.append("finished", {"result": result})


def scores(request, case=ALLOCATES):
    space = in_order(requested_space(request, case), request, case)
    return {dimension.knob: dimension.score for dimension in space.dimensions}


def promises(request, case=ALLOCATES):
    return {dimension.knob: dimension.score for dimension in requested_space(request, case).dimensions}


@pytest.mark.parametrize(
    ("shown", "ranks", "kind"),
    [(CHURN, 2, "faults"), (ALLREDUCE, 2, "collectives"), (ALLREDUCE, 4, "crowded"), (HALO, 2, "messages")],
)
def test_programs_of_a_class_are_slow_for_the_same_reason(shown, ranks, kind):
    assert program_class(doing(situation(ranks=ranks), shown)) == f"mpich, one node, {kind}"


def test_in_an_empty_store_the_promises_stay(request_of):
    assert scores(request_of()) == promises(request_of())


def test_knobs_that_helped_similar_programs_come_first(request_of):
    for _ in range(10):
        tuned(request_of(), ALLOCATES, "allocator")
    after, before = scores(request_of()), promises(request_of())
    assert after["allocator"] > before["allocator"]
    assert after["binding"] < before["binding"]
    assert after["huge-pages"] == before["huge-pages"]  # never tried there


def test_successes_in_programs_of_another_class_do_not_count(request_of):
    tuned(request_of(), doing(situation(), COMPUTES), "allocator")
    assert scores(request_of()) == promises(request_of())


def test_an_unproved_answer_does_not_count_as_help(request_of):
    tuned(request_of(), ALLOCATES, "allocator", verdict="no difference shown")
    assert scores(request_of())["allocator"] < promises(request_of())["allocator"]


def test_knobs_named_by_advice_stay_first(request_of):
    tuned(request_of(), ALLOCATES, "malloc")
    assert scores(request_of(advised=("binding",)))["binding"] == 0.9


def test_knobs_with_a_small_bound_come_later(request_of):
    little = doing(situation(), behaviour(fault_bound=0.05, allocator_bound=0.0, own_bound=1.0))
    assert scores(request_of(), little)["malloc"] == pytest.approx(
        promises(request_of(), little)["malloc"] / 2
    )


def test_without_a_record_a_program_has_no_class_and_no_history(request_of):
    unknown = replace(ALLOCATES, observation=replace(ALLOCATES.observation, behaviour=None))
    tuned(request_of(), unknown, "allocator")
    assert scores(request_of(), unknown) == promises(request_of(), unknown)


def test_the_age_of_a_tune_is_that_of_its_start(request_of):
    tuned(request_of(), ALLOCATES, "allocator")
    (summary,) = Store(request_of().store).tunes()
    started = datetime.fromisoformat(summary.started_at)
    assert abs((datetime.now(timezone.utc) - started).total_seconds()) < 3600

"""A suggested setting counts as tried only if a run has tried it."""

from dataclasses import replace

from tests.support.situations import BY_LABEL, situation

from mpiric.model.configuration import Configuration
from mpiric.model.run import Outcome, Phase, Trial
from mpiric.statistics.space import Dimension, SearchSpace
from mpiric.workflows.trials.recorded_runs import after_runs, findings_of

CASE = situation(BY_LABEL["mpich-5.0.2"])  # unbound ranks: binding promises most


def suggested(**space: tuple[str, ...]) -> list[str]:
    dimensions = tuple(Dimension(knob, values, 0.9, ()) for knob, values in space.items())
    findings = findings_of(CASE, SearchSpace(dimensions) if space else None)
    return [finding.id for finding in findings]


def test_nothing_is_suggested_that_the_space_has_not() -> None:
    assert "try-binding" in suggested()
    assert "try-binding" in suggested(binding=("core",))
    assert "try-binding" not in suggested(binding=("none",))
    assert "try-binding" not in suggested(malloc=("keep-memory",))


def test_only_configurations_that_ran_were_tried() -> None:
    findings = findings_of(CASE)
    ran = Trial(Configuration.of({"binding": "core"}), Phase.SEARCH, Outcome.OK, 1.0, 1.0)
    other = Trial(Configuration.of({"malloc": "keep-memory"}), Phase.SEARCH, Outcome.OK, 1.0, 1.0)

    def fix(*trials: Trial) -> str:
        return next(finding.fix for finding in after_runs(findings, trials) if finding.id == "try-binding")

    assert fix(ran) == "tried: binding = core"
    assert fix(other) == "not tried: binding"


def test_knobs_with_one_reason_share_a_finding() -> None:
    observation = CASE.observation
    faults = round(351_714 * (observation.ranks_s or observation.wall_s))
    ranks = tuple(replace(rank, minor_faults=faults, system_s=0.5) for rank in observation.ranks)
    faulting = replace(CASE, observation=replace(observation, ranks=ranks))
    values = {"malloc": ("keep-memory",), "huge-pages": ("transparent",)}
    space = SearchSpace(tuple(Dimension(knob, tried, 0.9, ()) for knob, tried in values.items()))
    findings = [finding for finding in findings_of(faulting, space) if "351,714" in finding.says]
    assert [finding.id for finding in findings] == ["try-malloc,huge-pages"]
    assert "malloc = keep-memory, or huge-pages = transparent" in findings[0].fix
    ran = Trial(Configuration.of({"malloc": "keep-memory"}), Phase.SEARCH, Outcome.OK, 1.0, 1.0)
    (after,) = after_runs(findings, [ran])
    assert after.fix == "tried: malloc = keep-memory; not tried: huge-pages"

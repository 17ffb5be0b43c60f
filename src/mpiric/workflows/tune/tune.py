"""`mpiric tune`: find the fastest configuration, prove it, save the recipe."""

from mpiric.host.host import Host
from mpiric.host.processes.execution import Runner
from mpiric.lab.lab import drive
from mpiric.lab.render import render
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MismatchError
from mpiric.model.narrator import Narrator
from mpiric.model.run import Plan
from mpiric.model.tuned import Tuned
from mpiric.workflows.fabric.bench import with_networks
from mpiric.workflows.launch.parse_job import ParsedJob
from mpiric.workflows.trials.expected import expected_situation
from mpiric.workflows.tune.answer_effects import observe_answer
from mpiric.workflows.tune.collectives import learn_collectives
from mpiric.workflows.tune.find_candidates import find_candidates
from mpiric.workflows.tune.finish import finish
from mpiric.workflows.tune.prove_best import prove_best
from mpiric.workflows.tune.rank_orders import find_rank_orders
from mpiric.workflows.tune.space import check_names, requested_space
from mpiric.workflows.tune.start import observe_command, open_log, open_tune, parse_request
from mpiric.workflows.tune.state import TuneRequest, TuneState
from mpiric.workflows.tune.write_results import write_results


def tune(request: TuneRequest, host: Host, narrator: Narrator, runner: Runner | None = None) -> Tuned:
    """Tune a command. Ctrl-C ends it early with the best configuration so far; all trials stay logged."""
    check_names([*request.only, *request.without])
    parsed = parse_request(request, host)
    with (
        open_log(request, parsed.job) as log,
        open_tune(request, parsed, log, host, narrator, runner or Runner()) as state,
    ):
        drive(answer(state, parsed, host), state.lab.measure, state.report, state.logged)
        return write_results(state, host, state.budget.elapsed_s)


def answer(state: TuneState, parsed: ParsedJob, host: Host) -> Plan[None]:
    """Observe the command, search for a faster configuration, prove it, and record what it changes."""
    yield from observe_command(state, parsed, host)
    try:
        state.situation = with_networks(state.situation, host, state.narrator)
        if state.marks is None:  # otherwise the runs before the step markers were known were longer
            state.run_s = state.lab.run_s or state.run_s
        find_rank_orders(state, host)
        yield from learn_collectives(state, host)
        candidates = yield from find_candidates(state)
        yield from prove_best(state, candidates)
        yield from observe_answer(state, host)
        yield from finish(state)
    except KeyboardInterrupt:
        state.interrupted = True


def dry_run(request: TuneRequest, host: Host) -> list[str]:
    """Return the launch lines that a tune would try, without running anything."""
    check_names([*request.only, *request.without])
    parsed = parse_request(request, host)
    situation = expected_situation(parsed, host, request.allowed)
    lines = [f"as it is: {render(Configuration(), situation).shell_line()}"]
    for dimension in requested_space(request, situation).dimensions:
        for value in dimension.values:
            try:
                line = render(Configuration(((dimension.knob, value),)), situation).shell_line()
            except MismatchError as error:
                line = f"not tried: {error.message}"
            lines.append(f"{dimension.knob}={value}: {line}")
    return lines

"""A made-up launcher: ``quickrun -n 4 --on n1,n2 --pin core ./app``."""

from mpiric.launchers._dialect import (
    Dialect,
    Grammar,
    HostFormat,
    Option,
    assignment,
    bare_name,
    by_commas,
    first_word,
    separate,
)
from mpiric.launchers._emission import bound_inside, hosts_with_ranks, openmp_variables, ranks_in_all
from mpiric.launchers._spellers import by_word
from mpiric.model.amount import version_by
from mpiric.model.job import Meaning
from mpiric.model.machine import pu_list
from mpiric.model.placement import Emission

_BINDING = {"none": "nowhere", "core": "core", "package": "chip"}


def _emit(plan):
    cpus = "/".join(pu_list(seat.pus) for seat in plan.seats)
    words = ("quickrun", "-n", str(plan.request.ranks), "--each", str(plan.ranks_per_node), "--pin", cpus)
    return Emission(words, openmp_variables(plan))


def _emit_uneven(plans):
    hosts = ",".join(host for host, _ in hosts_with_ranks(plans))
    return bound_inside(plans, ("quickrun", "-n", str(ranks_in_all(plans)), "--on", hosts))


DIALECT = Dialect(
    name="quickrun",
    launcher_names=("quickrun",),
    grammar=Grammar(equals=True),
    options=(
        Option(("n",), 1, Meaning.RANKS),
        Option(("each",), 1, Meaning.RANKS_PER_NODE),
        Option(("on",), 1, Meaning.HOSTS),
        Option(("pin",), 1, Meaning.BINDING),
        Option(("set",), 1, Meaning.ENVIRONMENT),
    ),
    recognise_version=version_by(r"quickrun (\d\S+)"),
    write={
        **separate(
            {
                Meaning.RANKS: "-n",
                Meaning.RANKS_PER_NODE: "--each",
                Meaning.HOSTS: "--on",
                Meaning.BINDING: "--pin",
            }
        ),
        Meaning.ENVIRONMENT: assignment("--set"),
    },
    spellings={"binding": by_word(_BINDING, lambda word: ("--pin", word))},
    neutral=True,
    hosts=HostFormat(by_commas, first_word, bare_name, bare_name),
    binding_words=_BINDING,
    emit=_emit,
    emit_uneven=_emit_uneven,
    rank_variable="QUICK_RANK",
)

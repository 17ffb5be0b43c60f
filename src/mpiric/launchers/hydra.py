"""hydra as MPICH and MVAPICH ship it; binds by options of its own.

Source: src/pm/hydra/mpiexec/options.c and src/pm/hydra/lib/tools/topo of MPICH.
"""

from mpiric.launchers._banner import version_by
from mpiric.launchers._dialect import Dialect, Facet, Option, placement_above
from mpiric.launchers._hydra import GRAMMAR, OPTIONS, WRITE
from mpiric.launchers._placement import by_word, cores_for
from mpiric.launchers._route import route_speller
from mpiric.launchers._words import words
from mpiric.model.count import count_of
from mpiric.model.job import LaunchOption, Meaning
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

_BINDING = {
    "none": "none",
    "core": "core",
    "hwthread": "hwthread",
    "l3": "l3cache",
    "numa": "numa",
    "package": "socket",
}
_MAPPING = {"compact": "core", "spread-numa": "numa", "spread-package": "socket"}


def _mapping(situation: Situation, value: str) -> Spelling | None:
    if value == "node-round-robin":
        return Spelling(options=(("-ppn", "1"),)) if situation.nodes > 1 else None
    if value not in _MAPPING:
        return None
    # hydra ignores a mapping without a binding; "core" gives way to any binding chosen beside it.
    bound = situation.job.segments[0].first(Meaning.BINDING)
    given = bound is not None or "HYDRA_BINDING" in situation.job.environment
    word = _MAPPING[value]
    if bound is not None and word == "core" and bound.values[0].startswith("core:"):
        word = bound.values[0]
    binding = () if given else (("-bind-to", "core"),)
    return Spelling(options=(*binding, ("-map-by", word)))


def _threads(situation: Situation, value: str) -> Spelling | None:
    """Mapped as it is bound: ``-bind-to core:4 -map-by core`` would shift each rank by one core only."""
    if not count_of(value):
        return None
    wide = f"core:{cores_for(situation, value)}"
    return Spelling(options=(("-bind-to", wide), ("-map-by", wide)))


def _merge(meaning: Meaning, under: str, over: str) -> str | None:
    """A width stays under ``core`` and never changes the level of a mapping."""
    if over == "core" and under.startswith("core:"):
        return under
    if meaning is Meaning.MAPPING and over.startswith("core:") and under != "core":
        return under
    return placement_above(meaning, under, over)


def _facets(option: LaunchOption) -> tuple[Facet, ...]:
    """``core:4`` says the binding and the width of a rank."""
    level, _, width = option.values[0].partition(":") if option.meaning is Meaning.BINDING else ("", "", "")
    if level == "core" and width.isdigit():
        return ((Meaning.BINDING, (level,)), (Meaning.THREADS_PER_RANK, (width,)))
    return ((option.meaning, option.values),)


DIALECT = Dialect(
    name="hydra",
    launcher_names=words("mpirun mpiexec mpiexec.hydra mpirun.mpich mpiexec.mpich mpirun.hydra"),
    grammar=GRAMMAR,
    options=(
        *OPTIONS,
        Option(("bind-to", "binding"), 1, Meaning.BINDING, variable="HYDRA_BINDING"),
        Option(("map-by",), 1, Meaning.MAPPING, variable="HYDRA_MAPPING"),
        Option(("membind",), 1, Meaning.MEMORY_BINDING, variable="HYDRA_MEMBIND"),
    ),
    recognise_version=version_by(r"(?s)HYDRA build details:.*?Version:\s+(\S+)"),
    write={
        **WRITE,
        Meaning.BINDING: lambda values: ("-bind-to", *values),
        Meaning.MAPPING: lambda values: ("-map-by", *values),
        Meaning.MEMORY_BINDING: lambda values: ("-membind", *values),
        Meaning.THREADS_PER_RANK: lambda values: ("-bind-to", f"core:{values[0]}"),
    },
    spellings={
        "binding": by_word(_BINDING, lambda word: ("-bind-to", word)),
        "mapping": _mapping,
        "threads-per-rank": _threads,
        "launch-route": route_speller,
    },
    merge=_merge,
    facets=_facets,
    host_file_format="hydra",
    binding_words=_BINDING,
    mapping_words=_MAPPING,
)

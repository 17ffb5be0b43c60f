"""No launcher: the program itself, or a script that starts one; all that reaches it is the environment."""

from collections.abc import Mapping

from mpiric.launchers import hydra, intelmpi, openmpi4, openmpi5
from mpiric.launchers._banner import never
from mpiric.launchers._dialect import Dialect, Grammar, Speller
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

# What the launcher inside a script reads, by the dialect it speaks: variable, and the words it takes.
_BINDING: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "openmpi4": ("OMPI_MCA_hwloc_base_binding_policy", openmpi4.DIALECT.binding_words),
    "openmpi5": ("PRTE_MCA_hwloc_default_binding_policy", openmpi5.DIALECT.binding_words),
    "hydra": ("HYDRA_BINDING", hydra.DIALECT.binding_words),
}
_MAPPING: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "openmpi4": ("OMPI_MCA_rmaps_base_mapping_policy", openmpi4.DIALECT.mapping_words),
    "openmpi5": ("PRTE_MCA_rmaps_default_mapping_policy", openmpi5.DIALECT.mapping_words),
    "hydra": ("HYDRA_MAPPING", hydra.DIALECT.mapping_words),
}


def _as_variables(spelling: Spelling | None) -> Spelling | None:
    """``-genv`` options as plain variables; None where another option is needed."""
    if spelling is None or any(words[0] != "-genv" for words in spelling.options):
        return None
    return Spelling(environment={words[1]: words[2] for words in spelling.options})


def _by_variable(table: Mapping[str, tuple[str, Mapping[str, str]]], knob: str) -> Speller:
    def speller(situation: Situation, value: str) -> Spelling | None:
        if situation.mpi.dialect == "intelmpi":
            return _as_variables(intelmpi.DIALECT.spellings[knob](situation, value))
        name, words = table.get(situation.mpi.dialect, ("", {}))
        return Spelling(environment={name: words[value]}) if value in words else None

    return speller


DIALECT = Dialect(
    name="direct",
    launcher_names=(),
    grammar=Grammar(),
    options=(),
    recognise_version=never,
    write={},
    spellings={"binding": _by_variable(_BINDING, "binding"), "mapping": _by_variable(_MAPPING, "mapping")},
)

"""Spellers of the knob `mpi-io`: variables of the library if they suffice, otherwise the runtime.

The runtime passes hints to `MPI_File_open` per file under any library, without overriding keys of the
program. Variables of a library hold for all files.
"""

import hashlib
from collections.abc import Callable

from mpiric.model.job import Spelling
from mpiric.model.knob import Spell
from mpiric.model.situation import Situation
from mpiric.model.storage import HintRule, parse_hints

Exported = Callable[[tuple[HintRule, ...], Situation], Spelling | None]


def hint_speller(exported: Exported) -> Spell:
    """Return the knob's speller for a library with these variables."""

    def spell(value: str, situation: Situation) -> Spelling | None:
        rules = parse_hints(value)
        return exported(rules, situation) or _injected(rules, situation)

    return spell


def _injected(rules: tuple[HintRule, ...], situation: Situation) -> Spelling | None:
    if not situation.tuner.library:
        return None
    entries = (
        " ".join([rule.pattern, *(f"{key}={value}" for key, value in rule.hints.items())]) for rule in rules
    )
    return Spelling(
        environment={"MPIRIC_FILE_HINTS": ";".join(entries)},
        preload=(situation.tuner.library,),
        note="the runtime passes these hints to MPI_File_open; hints of the program take precedence",
    )


def by_hint_file(rules: tuple[HintRule, ...], situation: Situation) -> Spelling | None:
    """Write a ROMIO_HINTS file, which rank 0 reads at each open; hints of the program take precedence.

    ROMIO reads less than 4096 bytes and silently drops lines that do not have two words; values of the knob
    are shorter and have no blanks. If the user has a hints file, it is kept and the runtime passes the hints.
    """
    if len(rules) > 1 or rules[0].pattern != "*" or not situation.hint_directory:
        return None
    if "ROMIO_HINTS" in {**situation.inherited, **situation.job.environment}:
        return None
    text = "".join(f"{key} {value}\n" for key, value in rules[0].hints.items())
    name = hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
    path = f"{situation.hint_directory}/{name}.romio"
    return Spelling(environment={"ROMIO_HINTS": path}, files={path: text})


def by_cray_variable(rules: tuple[HintRule, ...], _situation: Situation) -> Spelling | None:
    """Set MPICH_MPIIO_HINTS: `PATTERN:KEY=VALUE:KEY=VALUE,PATTERN:…`, see intro_mpi(3)."""
    if any(":" in value for rule in rules for value in rule.hints.values()):
        return None
    entries = (
        ":".join([rule.pattern, *(f"{key}={value}" for key, value in rule.hints.items())]) for rule in rules
    )
    return Spelling(environment={"MPICH_MPIIO_HINTS": ",".join(entries)})


_OMPIO = {"cb_nodes": "num_aggregators", "cb_buffer_size": "bytes_per_agg"}


def by_ompio_parameters(rules: tuple[HintRule, ...], situation: Situation) -> Spelling | None:
    """Set OMPIO's parameters if each hint has one; PnetCDF reads its own variable under any library."""
    hints = rules[0].hints
    if len(rules) > 1 or rules[0].pattern != "*":
        return None
    if set(hints) <= set(_OMPIO):
        return Spelling(
            environment={f"OMPI_MCA_io_ompio_{_OMPIO[key]}": value for key, value in hints.items()}
        )
    if situation.observation.loads("libpnetcdf"):
        return Spelling(environment={"PNETCDF_HINTS": ";".join(f"{k}={v}" for k, v in hints.items())})
    return None

"""Storage of file data at other locations or in another arrangement than the program's.

Tried with ``--allow-relayout`` only. mpiric's runtime implements it (`src/runtime`); each note names the
command that undoes it.
"""

from mpiric.knobs._declaration import knob
from mpiric.knobs._outputs import output_system, outputs
from mpiric.knobs.late import by_the_runtime, no_runtime
from mpiric.model.job import Spelling
from mpiric.model.knob import FilesEffect, Skip, Try, Written
from mpiric.model.situation import Situation
from mpiric.model.storage import binary_size, parse_hdf5

_LEAST_ALIGNMENT = 1 << 20


def _consider_hdf5(situation: Situation) -> Skip | Try:
    if not situation.observation.loads("libhdf5"):
        return Skip("the ranks load no HDF5")
    if not any(file.interface == "mpi-io" for file in outputs(situation)):
        return Skip("no file is seen to be written through MPI")
    if reason := no_runtime(situation):
        return Skip(reason)
    system = output_system(situation)
    stripes = system.default_layout.stripes if system and system.default_layout else ()
    size = binary_size(max(_LEAST_ALIGNMENT, stripes[0].size_bytes) if stripes else _LEAST_ALIGNMENT)
    values = (f"align={size},metadata=collective", f"align={size}", "metadata=collective")
    return Try(values, 0.3, "the ranks write HDF5 files through MPI")


def _set_hdf5(value: str, situation: Situation) -> Spelling | None:
    arrangement = parse_hdf5(value)
    environment = (
        {"MPIRIC_HDF5_ALIGNMENT_KIB": str(arrangement.align_bytes >> 10)} if arrangement.align_bytes else {}
    )
    if arrangement.collective_metadata:
        environment |= {"MPIRIC_HDF5_COLLECTIVE_METADATA": "1"}
    note = "HDF5 files hold the same, otherwise arranged, with gaps: `h5repack` makes them as they were"
    return by_the_runtime(situation, environment, note)


KNOBS = (
    knob(
        "hdf5",
        Written("`align=1MiB`, `metadata=collective`, or both with a comma between them", parse_hdf5),
        _consider_hdf5,
        files=FilesEffect.RELAYOUT,
        settings=_set_hdf5,
    ),
)

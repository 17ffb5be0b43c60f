"""Storage of file data at other locations or in another arrangement than the program's.

Tried with ``--allow-relayout`` only. mpiric's runtime implements it (`src/runtime`); each note names the
command that undoes it.
"""

from collections import Counter
from math import ceil, sqrt

from mpiric.knobs._by_runtime import by_the_runtime, no_runtime
from mpiric.knobs._outputs import directory_of, output_system, outputs, patterns_of
from mpiric.model.file_rules import SpreadRule, binary_size, parse_hdf5, parse_spread, write_spread
from mpiric.model.knob import FilesEffect, Knob, Skip, Try, Written
from mpiric.model.profile import FileTotal
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

_LEAST_ALIGNMENT = 1 << 20
_MANY_FILES = 32  # number of files in one directory; fewer entries are created quickly


def _crowd(situation: Situation) -> tuple[FileTotal, ...]:
    """Return the single-writer files of the directory with most of them; empty below the limit."""
    alone = [file for file in outputs(situation) if file.ranks == 1]
    counts = Counter(map(directory_of, alone))
    if not counts or max(counts.values()) < _MANY_FILES:
        return ()
    fullest = max(counts, key=lambda path: counts[path])
    return tuple(file for file in alone if directory_of(file) == fullest)


def _consider_spread(situation: Situation) -> Skip | Try:
    crowd = _crowd(situation)
    if not crowd:
        return Skip(f"no directory is seen to get {_MANY_FILES} files of a rank each")
    if reason := no_runtime(situation):
        return Skip(reason)
    patterns = patterns_of(crowd, [file for file in outputs(situation) if file not in crowd])
    count = ceil(sqrt(len(crowd)))
    values = (write_spread(tuple(SpreadRule(pattern, count) for pattern in patterns)),) if patterns else ()
    system, because = output_system(situation), "many files are made in one directory"
    if system is not None and system.is_network:
        return Try(values, 0.3, f"{because}, whose server makes one after the other")
    return Try(values, 0.1, because)


def _set_spread(value: str, situation: Situation) -> Spelling | None:
    rules = ";".join(f"{rule.pattern} {rule.subdirectories}" for rule in parse_spread(value))
    note = "files are in mpiric-spread/NN below their directory: `mpiric gather DIRECTORY` puts them back"
    return by_the_runtime(situation, {"MPIRIC_SUBDIRECTORIES": rules}, note)


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
    Knob(
        name="subdirectories",
        sentence="Over how many subdirectories files are spread that ranks make in one directory",
        why="Entries of one directory are made one after the other, under its lock on one metadata server",
        source="NASA HECC, Lustre Best Practices: many files in a single directory",
        evidence=(
            "http://lists.lustre.org/pipermail/lustre-discuss-lustre.org/2010-September/008507.html: 2,500 "
            "files a second in a directory of 20,000, 100 in one of 30,000"
        ),
        domain=Written("subdirectories by pattern of names: `restart.*:16;dump.*:4`", parse_spread),
        consider=_consider_spread,
        files=FilesEffect.RELAYOUT,
        settings=_set_spread,
        touches=("io_bound", "unsafe_bound"),
        symptoms=("io_share", "file_share"),
    ),
    Knob(
        name="hdf5",
        sentence="Where objects begin in parallel HDF5 files, and whether ranks write metadata together",
        why="Objects across stripes make ranks wait for one another's locks; metadata go out in small writes",
        source="HDF5 reference manual, H5Pset_alignment and H5Pset_coll_metadata_write; H5Tuner, SC13, "
        "https://doi.org/10.1145/2503210.2503278",
        evidence=(
            "https://doi.org/10.1145/2503210.2503278: H5Tuner, SC13, alignment among the parameters that it "
            "tunes"
        ),
        domain=Written("`align=1MiB`, `metadata=collective`, or both with a comma between them", parse_hdf5),
        consider=_consider_hdf5,
        files=FilesEffect.RELAYOUT,
        settings=_set_hdf5,
        touches=("mpi_io_bound", "unsafe_bound"),
        symptoms=("io_share", "file_share"),
    ),
)

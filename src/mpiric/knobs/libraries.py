"""Libraries of the program: code paths of math libraries, another BLAS, another MPI library."""

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import PurePosixPath

from mpiric.knobs._declaration import knob
from mpiric.model.amount import share
from mpiric.model.errors import MismatchError
from mpiric.model.job import Meaning, Spelling, Weight
from mpiric.model.knob import Choice, Knob, Name, ResultsEffect, Skip, Try, plain
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.situation import Situation
from mpiric.model.translation import NAMES, before_rpath, can_translate, own_family, preloads, why_unserved

_BLAS = "libblas.so."
_HOST = "host"  # value of `mpi` for an image: the launcher's library
_AMD = "AuthenticAMD"
_LEAVES_BINDING = re.compile(r"ppr:\d+:node|slot", re.IGNORECASE)  # Open MPI's --map-by and --rank-by
_BINDING_VARIABLE = re.compile(r"^(?!OMP_).*(bind|_PIN|affinity)", re.IGNORECASE)


def _has(situation: Situation, *features: str) -> bool:
    return all(feature in situation.machine.cpu.features for feature in features)


Fit = tuple[str, bool]  # value, and whether the CPU supports it


def _openblas_paths(situation: Situation) -> tuple[Fit, ...]:
    is_amd = situation.machine.cpu.vendor == _AMD
    return (
        ("SkylakeX", _has(situation, "avx512f")),
        ("Zen", is_amd and _has(situation, "avx2")),
        ("Haswell", _has(situation, "avx2", "fma")),
        ("Sandybridge", _has(situation, "avx") and not _has(situation, "avx2")),
    )


def _mkl_paths(situation: Situation) -> tuple[Fit, ...]:
    if situation.machine.cpu.vendor == _AMD:
        return ()  # MKL reads the variable on Intel's CPUs only
    return (("AVX512", _has(situation, "avx512f")), ("AVX2", _has(situation, "avx2")))


def _code_path_knob(
    name: str,
    stem: str,
    variable: str,
    choices: tuple[str, ...],
    paths: Callable[[Situation], tuple[Fit, ...]],
) -> Knob:
    """Return a knob for a library's code path variable."""

    def consider(situation: Situation) -> Skip | Try:
        if not situation.observation.loads(stem):
            return Skip(f"the ranks do not load {stem.rstrip('_')}")
        forced = situation.in_force(variable)
        values = tuple(value for value, fits in paths(situation) if fits and value != forced)
        return Try(values, 0.3, "the library chose its code path by the CPU's name, not by measurement")

    return knob(name, Choice(choices), consider, settings=plain(variable), results=ResultsEffect.ROUNDING)


def _directory(path: str) -> str:
    return str(PurePosixPath(path).parent)


def _blas_in_force(situation: Situation) -> str:
    paths = (path for rank in situation.observation.ranks for path in rank.libraries)
    return next((path for path in paths if path.rsplit("/", 1)[-1].startswith(_BLAS)), "")


def _consider_blas(situation: Situation) -> Skip | Try:
    if situation.job.container is not None:
        return Skip("the library of this machine need not fit inside a container")
    loaded = _blas_in_force(situation)
    if not loaded:
        return Skip("the ranks load no BLAS that could be exchanged (libblas.so)")
    installed = situation.machine.blas_libraries
    values = tuple(name for name, path in installed if _directory(path) != _directory(loaded))
    return Try(values, 0.5, "several libraries with this interface are installed")


def _set_blas(value: str, situation: Situation) -> Spelling | None:
    path = dict(situation.machine.blas_libraries).get(value)
    note = f"the BLAS is {path}; a program with an RPATH of its own keeps the one it was linked with"
    return Spelling(library_path=(_directory(path),), note=note) if path else None


def mpi_mismatch(library: MpiLibrary, situation: Situation) -> str:
    """Return why the program cannot use another MPI library; "" if it can."""
    now = situation.mpi
    names = situation.observation.mpi_names or {now.soname}
    if situation.observation.mpi_fixed:
        return situation.observation.mpi_fixed
    if library.stand_in:
        return _launcher_missing(library)
    if not set(library.abi_families) & set(now.abi_families):
        families = ", ".join(family.value for family in now.abi_families)
        why = _untranslated(library, names, situation)
        return f"{library.label} is not of the program's ABI family ({families}), and {why}"
    if why := why_unserved(library, names):
        return why
    if unnamed := sorted(names - {*library.sonames, library.soname}):
        return f"the program asks for {', '.join(unnamed)}, and {library.label} has other names"
    if library.refused:
        return library.refused
    if situation.observation.mpi_nailed and not library.repair and not before_rpath(library, names):
        return f"the program's RPATH binds it to {situation.observation.mpi_nailed}"
    return _launcher_missing(library)


def _launcher_missing(library: MpiLibrary) -> str:
    if library.launcher and library.dialect:
        return ""
    return f"{library.label} has no launcher of its own, and launcher and library are switched together"


def _untranslated(library: MpiLibrary, names: Collection[str], situation: Situation) -> str:
    """Return why no translation library supports the program with this library."""
    families = (family for family in AbiFamily if set(names) & set(NAMES[family]))
    program = next(families, None) if situation.observation.mpi_names else own_family(situation.mpi)
    if program is None or not can_translate(program, library):
        return "no stand-in exists for its ABI over this library"
    return library.refused or "its stand-in cannot be had here"


def _members(situation: Situation) -> tuple[MpiLibrary, ...]:
    """Return the libraries that the program can use, libraries without translation first.

    A library without a function that the program can call is only used on request: the user may know that
    the function is not needed.
    """
    fitting = (library for library in situation.other_libraries if not mpi_mismatch(library, situation))
    other_libraries = (
        library for library in fitting if library.label != situation.mpi_in_force and not library.lacks
    )
    return tuple(sorted(other_libraries, key=lambda library: bool(library.stand_in)))


def _consider_mpi(situation: Situation) -> Skip | Try:
    """Propose labels of libraries; for a container only the launcher's library."""
    job, observation = situation.job, situation.observation
    if not job.launcher_words or job.launcher.serves_every_library:
        return Skip("started without the library's own launcher, which would have to change with it")
    if job.container is not None:
        if situation.host_mpi and situation.host_mpi.refused:
            return Skip(situation.host_mpi.refused)
        values: tuple[str, ...] = (_HOST,)
    elif observation.mpi_fixed:
        return Skip(observation.mpi_fixed)
    elif observation.ranks and not observation.is_dynamic:
        return Skip("the program is linked statically")
    else:
        values = tuple(library.label for library in _members(situation))[:5]
        if not values:
            return Skip("no other library that can serve the program is installed")
    # The user's library stays if another one could save little of the run. A long start-up
    # alone is not a reason, because lighter settings shorten it.
    if (bound := situation.shown("run_mpi_bound")) < 0.1:
        return Skip(f"{share(bound)} of the run goes into MPI between MPI_Init and MPI_Finalize")
    return Try(values, 0.4, "other libraries that can serve the program are installed")


def _set_host_mpi(situation: Situation) -> Spelling:
    """Return a spelling that mounts the launcher's prefix in the image, before the image's own libraries.

    The translation library is mounted too; variables contain the path of the library in the container.
    """
    mpi = situation.host_mpi or situation.mpi
    if situation.job.container is None:
        raise MismatchError("--mpi host needs a command that starts a container image")
    if mpi.refused:
        raise MismatchError(
            f"the host's MPI cannot take the place of the image's: {mpi.refused}",
            hint="keep the image's: --mpi image",
        )
    leads_to = {"MPIRIC_TRANSLATE": mpi.library} if mpi.stand_in else {}
    note = f"the ranks load {mpi.label} of the host instead of the image's library"
    return Spelling(
        environment={**mpi.environment, **leads_to},
        preload=mpi.preloaded,
        library_path=mpi.library_path or (_directory(mpi.library),),
        exchanges_mpi=Weight.SHIM if mpi.stand_in else Weight.LIBRARY,
        bound=(mpi.prefix, *dict.fromkeys(_directory(path) for path in mpi.preloaded)),
        note=f"{note}; calls are translated from the program's ABI" if mpi.stand_in else note,
    )


def default_level(library: MpiLibrary, situation: Situation) -> str:
    """Return the value of `binding` that a library uses by default here, "" if it is unknown."""
    level = library.capabilities.default_binding[situation.rank_count > 2]
    topology = situation.machine.topology
    several = {"numa": len(topology.numa_nodes) > 1, "package": len(topology.packages) > 1}
    return level if several.get(level, True) else "none"


def binding_in_force(library: MpiLibrary, situation: Situation) -> str:
    """Return the value of `binding` that ranks of the command have under its own library.

    The result is "" if it is unknown, or if the command line sets it: that option is translated.
    """
    placed = (Meaning.BINDING, Meaning.MAPPING, Meaning.RANKING)
    options = (option for segment in situation.job.segments for option in segment.options)
    if any(o.meaning in placed and not _LEAVES_BINDING.fullmatch(" ".join(o.values)) for o in options):
        return ""
    if any(_BINDING_VARIABLE.search(name) for name in situation.inherited):
        return ""
    return default_level(library, situation)


def _mpi_brings(value: str, situation: Situation) -> Mapping[str, str]:
    """Keep the binding: defaults of libraries differ, and thread numbers depend on the CPUs of a rank."""
    if value == _HOST or situation.cpus_per_node < 2 or situation.is_oversubscribed:
        return {}
    command_library, *other_libraries = (situation.mpi, *situation.other_libraries)
    if command_library.label == value and other_libraries:  # the situation already has the other library
        command_library, library = other_libraries[0], command_library
    else:
        match = next((other for other in other_libraries if other.label == value), None)
        if match is None:
            return {}
        library = match
    level = binding_in_force(command_library, situation)
    return {"binding": level} if level and level != default_level(library, situation) else {}


def _of_others(library: MpiLibrary, situation: Situation) -> tuple[str, ...]:
    """Return variables that the user has set for another library (OPAL_PREFIX) and that break this one."""
    everyone = (situation.mpi, *situation.other_libraries)
    names = {name for other in everyone for name in other.environment} - set(library.environment)
    return tuple(sorted(name for name in names if name in situation.job.environment))


def _set_mpi(value: str, situation: Situation) -> Spelling:
    """Return launcher, dialect, library path and environment together. Raises MismatchError."""
    if value == _HOST:
        return _set_host_mpi(situation)
    library = next((other for other in situation.other_libraries if other.label == value), None)
    if library is None:
        labels = ", ".join(other.label for other in _members(situation))
        hint = (
            f"these libraries can serve the program: {labels}"
            if labels
            else "install one: mpiric mpi install"
        )
        raise MismatchError(f"no MPI library {value} is installed here", hint=hint)
    if reason := mpi_mismatch(library, situation):
        raise MismatchError(
            f"the program cannot run under {value}: {reason}",
            hint="mpiric inspect PROGRAM shows the libraries that can run it",
        )
    path = ":".join((*library.search_path, situation.job.environment.get("PATH", "")))
    observation = situation.observation
    note = f"launcher and library are both {library.label}; reductions may be ordered otherwise"
    if library.stand_in:
        note += "; calls are translated from the program's ABI"
    if library.repair:
        note += "; constants to which it gives other values than the standard are set right"
    if library.lacks:
        note += f", but for {', '.join(library.lacks)}, which end in an error"
    return Spelling(
        environment=dict(library.environment),
        unset=_of_others(library, situation),
        preload=preloads(library, observation.mpi_names, is_bound=bool(observation.mpi_nailed)),
        launcher_environment={"PATH": path} if library.search_path else {},
        library_path=library.library_path,
        launcher_words=(library.launcher,),
        dialect=library.dialect,
        crowded=situation.is_oversubscribed,
        exchanges_mpi=Weight.SHIM if library.stand_in else Weight.LIBRARY,
        note=note,
    )


KNOBS = (
    _code_path_knob(
        "openblas-core",
        "libopenblas",
        "OPENBLAS_CORETYPE",
        ("SkylakeX", "Cooperlake", "Zen", "Haswell", "Sandybridge"),
        _openblas_paths,
    ),
    _code_path_knob("mkl-instructions", "libmkl_", "MKL_ENABLE_INSTRUCTIONS", ("AVX512", "AVX2"), _mkl_paths),
    knob("blas", Name(), _consider_blas, settings=_set_blas, results=ResultsEffect.ROUNDING),
    knob("mpi", Name(), _consider_mpi, settings=_set_mpi, results=ResultsEffect.CHECKED, brings=_mpi_brings),
)

"""Findings on a launch: containers, the user's file of MPI-IO hints, and ranks that did not find each other.

An image can use the MPI library of the launcher's host. The number of ranks of a launch is compared with the
size of the recorded world.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from posixpath import dirname

from mpiric import launchers, mpis
from mpiric.host.host import HERE, Host
from mpiric.host.packaged import finding_from, packaged_table
from mpiric.lab.endings import command_line
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import Finding, MismatchError
from mpiric.model.job import Container, Job, Launch, Meaning, Spelling
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.profile import Advice, Remedy
from mpiric.model.record import Record
from mpiric.model.situation import Situation
from mpiric.workflows.launch.interchange import translated
from mpiric.workflows.launch.loadable import why_not_loadable
from mpiric.workflows.launch.parse_job import ParsedJob

# Lines `rank key value`; the last commands may be missing in a small image.
_QUESTION = r"""
say() { printf 'mpiric-inside %s %s %s\n' "$$" "$1" "$2"; }
say user "$(readlink /proc/self/ns/user)"
say shm "$(stat -c %d:%i /dev/shm 2>/dev/null)"
say room "$(df -Pm /dev/shm 2>/dev/null | tail -n 1)"
say devices "$(ls /dev/infiniband 2>/dev/null | tr '\n' ' ')"
say verbs "$(ls /usr/lib*/libibverbs.so.1 /usr/lib/*/libibverbs.so.1 2>/dev/null | tr '\n' ' ')"
ranks='PMI[X_0-9A-Z]*\|OMPI_COMM_WORLD_[A-Z_]*\|SLURM_PROCID\|PALS_RANKID'
say variables "$(env | sed -n "s/^\\($ranks\\)=.*/\\1/p" | tr '\n' ' ')"
path=$(command -v "$1" 2>/dev/null) && ldd "$path" 2>&1 | sed 's/^/mpiric-linker /'
"""
_LIMIT_S = 120  # an engine may unpack its image first
_LINKER, _INSIDE = "mpiric-linker ", "mpiric-inside "
_SINGLE = re.compile(r"/?\b(libmpi\w*\.so\.\d+)\b.*=>")
LONGEST_FILE = 4095  # bytes: ROMIO reads 4096 into a buffer of that size
_OF_SYSTEM = ("/", "/usr", "/usr/local")  # prefixes whose C library would be mounted too
_hint_file_finding = partial(finding_from, "knobs/_inherited")


@dataclass(frozen=True)
class Inside:
    """Facts from two ranks of a job in their container; from one without a launcher."""

    ranks: tuple[Mapping[str, str], ...]  # key → value for each rank
    linker: tuple[str, ...]  # libraries that the dynamic linker finds for the program, or reports as missing
    messages: tuple[str, ...]  # stderr of the engine and the dynamic linker

    @property
    def mpi_names(self) -> tuple[str, ...]:
        """Return the MPI libraries that the program loads in the container."""
        return tuple(dict.fromkeys(match[1] for line in self.linker if (match := _SINGLE.search(line))))


def look_inside(job: Job, container: Container, host: Host) -> Inside:
    """Start a shell in the container like the job's program, with two ranks."""
    program = job.program[len(container.argv) :]
    argv = (*container.argv, "sh", "-c", _QUESTION, "sh", *program[:1])
    launcher = (job.launcher_words[0], "-n", "2") if job.launcher_words else ()
    changes = {"OMPI_MCA_rmaps_base_oversubscribe": "1", **job.environment}
    answer = host.run((*launcher, *argv), environment=changes, timeout_s=_LIMIT_S, working_directory=HERE)
    ranks: dict[str, dict[str, str]] = {}
    for line in answer.stdout.splitlines():
        if line.startswith(_INSIDE):
            _, process, key, value = f"{line}   ".split(" ", 3)
            namespace = ranks.setdefault(process, {})
            # Processes in two containers may have equal pids: a second answer starts a new rank.
            if key in namespace:
                namespace = ranks.setdefault(f"{process}+", {})
            namespace[key] = value.strip()
    linker = (
        line.removeprefix(_LINKER).strip() for line in answer.stdout.splitlines() if line.startswith(_LINKER)
    )
    return Inside(tuple(ranks.values()), tuple(dict.fromkeys(linker)), tuple(answer.stderr.splitlines()))


_TABLE = "workflows/launch/containers"
_WITHOUT_CMA = {  # implementation → setting that makes its shared memory copy twice
    "openmpi": "OMPI_MCA_btl_vader_single_copy_mechanism=none (Open MPI 4), OMPI_MCA_smsc=^cma (5)",
    "mpich": "UCX_TLS=^cma UCX_POSIX_USE_PROC_LINK=n MPIR_CVAR_CH4_CMA_ENABLE=0",
    "intelmpi": "I_MPI_SHM_CMA=0",
}
_TOO_NEW = re.compile(r"version `?'?GLIBC_(\d+(?:\.\d+)+)'? not found \(required by ([^)]+)\)")
_PRELOAD = re.compile(r"object '([^']+)' from LD_PRELOAD cannot be preloaded.*")
_OLDER = "program's own"  # family of a library that is older than the known ABI families
# Findings that prevent the program from running as one job.
_BREAKING = ("container-singletons", "container-abi", "container-glibc", "container-preload")


def container_findings(parsed: ParsedJob, host: Host) -> tuple[Finding, ...]:
    """Return findings on the job's container; none without one, or if it does not start."""
    container = parsed.job.container
    if container is None:
        return ()
    inside = look_inside(parsed.job, container, host)
    outside = host.run(("stat", "-c", "%d:%i", "/dev/shm")).stdout.strip()  # noqa: S108
    return tuple(findings_inside(parsed, container, inside, outside))


def breaking(parsed: ParsedJob, host: Host) -> tuple[str, ...]:
    """Return sentences on problems that prevent the program from running as one job in its container."""
    fatal = (*_BREAKING, *(["container-cma"] if parsed.mpi and parsed.mpi.implementation == "mpich" else []))
    findings = (finding for finding in container_findings(parsed, host) if finding.id in fatal)
    return tuple(f"{finding.says} ({finding.id}: {finding.evidence}); {finding.fix}" for finding in findings)


def findings_inside(
    parsed: ParsedJob, container: Container, inside: Inside, shared_memory: str
) -> Iterator[Finding]:
    """Yield findings on the container; ``shared_memory`` is device and inode of the host's /dev/shm."""
    yield from _of_linker(parsed, container, inside)
    if not inside.ranks:
        return
    yield from _of_launcher(parsed, container, inside, parsed.mpi)
    yield from _of_memory(parsed, container, inside, shared_memory)
    yield from _of_network(parsed, container, inside)


def _of_linker(parsed: ParsedJob, container: Container, inside: Inside) -> Iterator[Finding]:
    lines = (*inside.linker, *inside.messages)
    preload = parsed.job.environment.get("LD_PRELOAD", "")
    refused = next((line for line in lines if _PRELOAD.search(line)), "")
    new = [(match, line) for line in lines if (match := _TOO_NEW.search(line))]
    for match, line in new:
        if preload and match[2] in preload.split(":"):
            refused = refused or line
    if preload and refused:
        yield _finding("container-preload", container, preload=preload, line=refused.strip())
    candidates = [(match, line) for match, line in new if match[2] not in preload.split(":")]
    if candidates:
        match, line = max(candidates, key=lambda candidate: tuple(map(int, candidate[0][1].split("."))))
        yield _finding("container-glibc", container, line=line.strip(), needed=match[1])


def _of_launcher(
    parsed: ParsedJob, container: Container, inside: Inside, mpi: MpiLibrary | None
) -> Iterator[Finding]:
    if not parsed.job.launcher_words:
        return
    launcher = parsed.job.launcher_words[0]
    # Launchers may lose output lines of ranks: a missing answer says nothing.
    answers = [rank["variables"] for rank in inside.ranks if "variables" in rank]
    if answers and not any(answers):
        variables = (
            "PMIX_RANK and its like" if mpi and mpi.implementation == "openmpi" else "PMI_RANK and its like"
        )
        yield _finding("container-singletons", container, launcher=launcher, variables=variables)
    families = {family for name in inside.mpi_names if (family := mpis.family_of_soname(name))}
    if mpi is not None and inside.mpi_names and not families & set(mpi.abi_families):
        whose = " or ".join(sorted(family.value for family in families)) or _OLDER
        yield _finding(
            "container-abi",
            container,
            launcher=launcher,
            host=mpi.label,
            program=parsed.job.program[len(container.argv)],
            inside=", ".join(inside.mpi_names),
            family=whose,
        )


def _of_memory(parsed: ParsedJob, container: Container, inside: Inside, outside: str) -> Iterator[Finding]:
    spaces = list(dict.fromkeys(rank.get("user", "") for rank in inside.ranks))
    implementation = parsed.mpi.implementation if parsed.mpi else ""
    if len(spaces) > 1 and _may_share_a_node(parsed.job):
        without = _WITHOUT_CMA.get(implementation, "UCX_TLS=^cma")
        yield _finding("container-cma", container, first=spaces[0], second=spaces[1], without_cma=without)
    shared = [rank.get("shm", "") for rank in inside.ranks]
    if outside and any(device and device != outside for device in shared):
        room = inside.ranks[0].get("room", "").split()
        free = room[3] if len(room) > 3 else "?"
        yield _finding("container-shm", container, outside=outside, inside=shared[0], free=free)


def _may_share_a_node(job: Job) -> bool:
    """Return whether the launch line permits several ranks on a node."""
    per_node = (segment.first(Meaning.RANKS_PER_NODE) for segment in job.segments)
    return job.ranks != 1 and not all(option and option.values == ("1",) for option in per_node)


def _of_network(parsed: ParsedJob, container: Container, inside: Inside) -> Iterator[Finding]:
    networks = sorted(
        {nic.kind for nic in parsed.machine.nics if nic.up and not nic.is_ip and nic.kind != "loopback"}
    )
    if not networks:
        return
    missing = [
        fact
        for key, fact in (("devices", "/dev/infiniband is not there"), ("verbs", "libibverbs is not there"))
        if not any(rank.get(key) for rank in inside.ranks)
    ]
    if missing:
        yield _finding("container-tcp", container, network=", ".join(networks), missing=" and ".join(missing))


def _finding(key: str, container: Container, **facts: str) -> Finding:
    texts = packaged_table(_TABLE)[key]
    fix = texts["fix"].get(container.engine, texts["fix"]["any"])
    return Finding(key, *(text.format(**facts) for text in (texts["says"], texts["evidence"], fix)))


def hint_file_findings(situation: Situation, host: Host) -> Iterator[Finding]:
    """Yield findings on the file that ROMIO_HINTS names."""
    path = situation.inherited.get("ROMIO_HINTS", "")
    if not path:
        return
    text = host.read_text(path)
    if text is None:
        yield _hint_file_finding("hint-file-missing", path=path)
        return
    if len(text.encode()) > LONGEST_FILE:
        yield _hint_file_finding("hint-file-cut", path=path, bytes=len(text.encode()))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if wrong := [line for line in lines if len(line.split()) != 2]:
        yield _hint_file_finding("hint-file-lines", path=path, line=repr(wrong[0]))


def host_mpi(job: Job, mpi: MpiLibrary, host: Host) -> MpiLibrary:
    """Return the library for the program in a job's image; ``refused`` says why it does not fit.

    The C library is checked first: the requirements of the host's library and of its neighbours against the
    image's.
    """
    if job.container is None or not mpi.library:
        return mpi
    if mpi.prefix in _OF_SYSTEM:
        why = f"{mpi.label} is in a system directory, whose C library would be mounted too"
        return replace(mpi, refused=why)
    for library in (mpi.library, *_beside(mpi, host)):
        if reason := why_not_loadable(job, library, host, whose=f"{library} of {mpi.label}"):
            return replace(mpi, refused=reason)
    ready = _serving(look_inside(job, job.container, host).mpi_names, mpi, host)
    for library in ready.preloaded:
        if reason := why_not_loadable(job, library, host, whose=f"the stand-in {library}"):
            return replace(mpi, refused=reason)
    return ready


def _serving(names: Collection[str], mpi: MpiLibrary, host: Host) -> MpiLibrary:
    """Return the library for a program with these libraries in the image, whose Fortran modules stay."""
    families = {family for name in names if (family := mpis.family_of_soname(name))}
    if not families or families & set(mpi.abi_families):
        return mpi
    files = tuple(f"/{name}" for name in names)
    ready = translated(mpi, next(iter(families)), frozenset(names), frozenset(), files, host)
    if ready.stand_in or ready.refused:
        return ready
    why = f"the program inside loads {', '.join(names)}, and {mpi.label} is of another ABI family"
    return replace(mpi, refused=why)


def _beside(mpi: MpiLibrary, host: Host) -> tuple[str, ...]:
    """Return the library of the prefix that needs the newest glibc; only it is checked in the image."""
    place = dirname(mpi.library)
    paths = [path for path in mpis.libraries_needed_by(host, mpi.library) if path.startswith(f"{place}/")]
    newest = sorted(paths, key=lambda path: elf.glibc_needed if (elf := host.elf(path)) else ())
    return tuple(newest[-1:])


_SOURCE = "MPI standard, MPI_Init without a process manager; SchedMD, MPI Users Guide"
_OTHER_FAMILY = re.compile(r"this is the runtime for another family of MPI libraries than: ([^,\n]+)")
_PLUGIN = re.compile(r"^\s*(?:srun: )?(none|pmi2|pmix(?:_v\d+)?|cray_shasta|openmpi)\s*$", re.MULTILINE)


def ranks_alone(job: Job, record: Record, host: Host) -> Advice | None:
    """Return the finding that each process of a launch is rank 0 of 1; None if the ranks found each other."""
    if not job.launcher_words or not job.ranks or job.ranks < 2 or record.world_size != 1:
        return None
    version = record.ranks[0].facts.get("mpi.version", "") if record.ranks else ""
    return _alone(job, version, f"the launch line asks for {job.ranks} ranks, and MPI_COMM_WORLD has 1", host)


def ranks_of_other_family(job: Job, output: str, host: Host) -> Advice | None:
    """Return the finding that the ranks load another library than their launcher's; None if they do not.

    ``output`` of a run in which the runtime for the launcher's family found the other library.
    """
    match = _OTHER_FAMILY.search(output)
    if not match or not job.launcher_words or not job.ranks or job.ranks < 2:
        return None
    library = _library(match[1], host)
    if job.launcher.serves_every_library or library is None or _belongs(job.launcher_words[0], library, host):
        return None
    return _alone(job, match[1], f"the ranks load {match[1].strip()}", host)


def _alone(job: Job, version: str, evidence: str, host: Host) -> Advice:
    """Return the finding that each rank runs alone; ``version``: text of its MPI library."""
    library = _library(version, host)
    launcher = job.launcher_words[0]
    name = library.label if library else version.partition("\n")[0] or "their MPI library"
    if job.launcher.serves_every_library:
        cause = f"srun gave the ranks no process manager that {name} understands"
        fix = "add the plug-in to srun, or start the program with mpirun inside the allocation"
    elif library is not None and _belongs(launcher, library, host):
        cause = "the variables of the launcher do not reach the ranks, or the program removes them"
        fix = "check what stands between the launcher and the program: env -i, sudo, a container"
    else:
        cause = f"{launcher} belongs to another MPI library than {name}, which the program loads"
        fix = "start the program with the launcher of its own MPI library"
    finding = Finding(
        "ranks-alone",
        f"Each of the {job.ranks} ranks runs alone, as rank 0 of 1: {cause}",
        evidence,
        fix,
    )
    remedy = _remedy(job, library, host)
    commands = (command_line(remedy),) if remedy else ()
    return Advice(finding, 0.0, None, "", (), commands, _SOURCE, explains_run=True, remedy=remedy)


def refuse_ranks_alone(job: Job, record: Record, host: Host) -> None:
    """Raise MismatchError if each process of a launch is rank 0 of 1."""
    if alone := ranks_alone(job, record, host):
        raise MismatchError(alone.finding.says, hint=": ".join((alone.finding.fix, *alone.commands)))


def _library(version: str, host: Host) -> MpiLibrary | None:
    """Return an installed library with a launcher, of the family that a version text names."""
    family = AbiFamily.OPENMPI if "Open MPI" in version else AbiFamily.MPICH if version else None
    fitting = [one for one in mpis.find_mpis(host) if one.launcher and family in one.abi_families]
    number = re.search(r"(\d+(?:\.\d+)+)", version)
    return next((one for one in fitting if number and number[1] in one.label), next(iter(fitting), None))


def _belongs(launcher: str, library: MpiLibrary, host: Host) -> bool:
    shipped_with = mpis.mpi_of_launcher(host, launcher)
    if shipped_with is None:
        return False
    return bool(set(shipped_with.abi_families) & set(library.abi_families))


def _remedy(job: Job, library: MpiLibrary | None, host: Host) -> Remedy | None:
    """Return the launch line with the missing plug-in of Slurm, or with the library's own launcher."""
    if library is None:
        return None
    if job.launcher.serves_every_library:
        listed = host.run([job.launcher_words[0], "--mpi=list"], timeout_s=10)
        manager = launchers.dialects()[library.dialect].process_manager
        present = _PLUGIN.findall(listed.stdout + listed.stderr)
        if manager in present:
            at = len(job.prefix) + 1
            argv = (*job.argv[:at], f"--mpi={manager}", *job.argv[at:])
            return Remedy(Launch(argv, job.working_directory))
        return None
    if _belongs(job.launcher_words[0], library, host):
        return None
    spelling = Spelling(dialect=library.dialect, launcher_words=(library.launcher,))
    try:
        return Remedy(launchers.render(job, [("launcher", library.label, spelling)]))
    except MismatchError:
        return None

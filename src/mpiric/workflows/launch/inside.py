"""Properties of a container's inside, from a shell that is started like the ranks."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mpiric.host.host import HERE, Host
from mpiric.model.job import Container, Job

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

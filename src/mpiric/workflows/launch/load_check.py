"""Dry load check: whether the ranks of a launch find all their shared libraries, without a run of it."""

from mpiric.host.host import Host
from mpiric.model.job import Job
from mpiric.model.launch import Launch
from mpiric.workflows.launch.parse_job import program_path

_TRACE = ("env", "LD_TRACE_LOADED_OBJECTS=1")  # ld.so(8): list the libraries and end
_LIMIT_S = 20.0
_MISSING = " => not found"


def missing_libraries(launch: Launch, job: Job, host: Host) -> tuple[str, ...]:
    """Return the libraries that the dynamic linker does not find in the ranks of a launch on this node.

    Nothing is checked where a launch starts several programs or an image, or may have to wait for a job.
    """
    is_here = bool(job.launcher_words) and not job.launcher.serves_every_library  # srun may ask for nodes
    if len(job.segments) != 1 or job.container is not None or not is_here or launch.prepare:
        return ()
    program = job.segments[0].program
    at = len(launch.argv) - len(program)
    if launch.argv[at:] != tuple(program) or host.elf(program_path(job, host)) is None:
        return ()
    done = host.run(
        (*launch.argv[:at], *_TRACE, program[0]),
        environment={**launch.environment, **dict.fromkeys(launch.unset)},
        timeout_s=_LIMIT_S,
        working_directory=job.working_directory,
    )
    lines = f"{done.stdout}\n{done.stderr}".splitlines()
    return tuple(sorted({line.strip().removesuffix(_MISSING) for line in lines if line.endswith(_MISSING)}))

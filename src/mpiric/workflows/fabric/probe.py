"""Launches of `mpiric fabric`: the command, and the native probe instead of the program."""

from collections.abc import Mapping
from dataclasses import replace

from mpiric import launchers
from mpiric.host.host import Host
from mpiric.host.installation.native import native_part
from mpiric.lab.render import completed, spellings
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.job import Job, Segment
from mpiric.model.launch import Launch
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling
from mpiric.workflows.launch.interchange import ready_to_serve

_SIZES_BYTES = (8, 1024, 65536, 1048576)


def render_command(situation: Situation, variables: Mapping[str, str]) -> Launch:
    """Return the launch of the user's command with additional environment variables."""
    return _render(situation.job, Configuration(), situation, Spelling(environment=variables))


def render_probe(
    configuration: Configuration, situation: Situation, host: Host, variables: Mapping[str, str]
) -> Launch:
    """Return the launch with the probe instead of the program. Raises MpiricError if that is impossible."""
    job, mpi = situation.job, situation.mpi
    if job.container is not None:
        raise MpiricError(
            f"the probe is not inside the container {job.container.image}",
            hint="give a program outside of containers, under the same launcher and MPI library",
        )
    program = native_part("probe-mpi", mpi.abi_families[0])
    elf = host.elf(program)
    needed = frozenset(name for name in (elf.needed if elf else ()) if name.startswith("libmpi"))
    served = ready_to_serve((mpi,), needed, mpi, host)[0]
    argv = (program, "fabric", *map(str, _SIZES_BYTES))
    segments = tuple(Segment(segment.options, argv) for segment in job.segments)
    around = Spelling(environment=variables, library_path=served.library_path)
    return _render(replace(job, segments=segments, stdin=""), configuration, situation, around)


def _render(job: Job, configuration: Configuration, situation: Situation, more: Spelling) -> Launch:
    written = spellings(configuration, situation)
    chosen = completed(configuration, situation).as_dict()
    spelled = [(knob, chosen[knob], spelling) for knob, spelling in written.items()]
    return launchers.render(job, [*spelled, ("fabric", "", more)])

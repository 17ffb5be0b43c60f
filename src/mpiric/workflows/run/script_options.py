"""What decides the lines of a job script: the user's options, the site's defaults, the node's shape."""

from dataclasses import replace

from mpiric.host.host import Host
from mpiric.model.batch import NodeShape
from mpiric.model.errors import MpiricError
from mpiric.schedulers import (
    BatchScheduler,
    LayoutRequest,
    ScriptOptions,
    SiteDefaults,
)


def with_ranks(request: LayoutRequest, of_command: int | None) -> LayoutRequest:
    """Ranks as the user's own launch line says; a contradiction to --ranks is an error."""
    if of_command is None:
        return request
    if request.ranks and request.ranks != of_command:
        raise MpiricError(
            f"--ranks {request.ranks} and the command's own {of_command} ranks contradict each other",
            hint="leave one of them away",
        )
    return replace(request, ranks=of_command)


def with_site_defaults(given: ScriptOptions, site: SiteDefaults, program: str) -> ScriptOptions:
    """The user's options over the site's."""
    own = site.options
    return replace(
        given,
        shebang=given.shebang or own.shebang,
        job_name=given.job_name or program,
        time=given.time or own.time,
        account=given.account or own.account,
        partition=given.partition or own.partition,
        directives=(*own.directives, *given.directives),
        setup=(*own.setup, *given.setup),
        environment={**own.environment, **given.environment},
    )


def node_shape(scheduler: BatchScheduler, host: Host, partition: str) -> NodeShape:
    """Shape of a node of the partition, as the scheduler knows it."""
    shapes = scheduler.node_shapes(host, partition)
    if not shapes:
        raise MpiricError(
            f"how many cores a node{f' of {partition}' if partition else ''} has is not known here",
            hint="give --node 2x64x2 (sockets, cores of each, hardware threads of each core), "
            "or run this on a login node of the cluster",
        )
    return shapes[0]

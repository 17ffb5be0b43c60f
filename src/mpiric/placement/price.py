"""What it costs to spread a bandwidth-bound job over more nodes than its ranks need cores for."""

from mpiric.model.core_set import CoreSet
from mpiric.model.placement import Bandwidth, Plan


def price_of_more_nodes(plan: Plan, available: CoreSet) -> tuple[str, ...]:
    """Core-hours and bandwidth per rank against the same job on full nodes; empty when it is that job."""
    width = plan.threads
    fewest = -(-plan.request.ranks * width // len(available.cores))
    if plan.policy != "bandwidth" or plan.nodes <= fewest:
        return ()
    cores = len(plan.topology.cores)
    times = plan.nodes / fewest
    sentence = (
        f"{plan.nodes} nodes in place of {fewest}: an hour costs {plan.nodes * cores} core-hours in place of "
        f"{fewest * cores}, so it pays if the job runs more than {times:.2f} × as fast"
    )
    gain = bandwidth_gain(plan, plan.request.measured, fewest)
    return (sentence + (f"; each rank gets {gain:.2f} × the memory bandwidth" if gain else ""),)


def bandwidth_gain(plan: Plan, measured: tuple[Bandwidth, ...], fewest_nodes: int) -> float:
    """Bandwidth per rank of the plan over that on full nodes, from the measurement; 0 without one."""
    saturation = plan.saturation
    if not measured or saturation is None or not saturation.all_cores_mb_s:
        return 0.0
    return (plan.nodes * saturation.mb_s) / (fewest_nodes * saturation.all_cores_mb_s)

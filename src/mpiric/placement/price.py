"""Cost of spreading a bandwidth-bound job over more nodes than its ranks need cores for."""

from mpiric.model.machine import CoreSet
from mpiric.model.placement import Bandwidth, Plan


def price_of_more_nodes(plan: Plan, available: CoreSet) -> tuple[str, ...]:
    """Return a note on core-hours and bandwidth compared with full nodes; empty if the nodes are full."""
    width = plan.threads
    fewest = -(-plan.request.ranks * width // len(available.cores))
    if plan.policy != "bandwidth" or plan.nodes <= fewest:
        return ()
    cores = len(plan.topology.cores)
    times = plan.nodes / fewest
    sentence = (
        f"{plan.nodes} nodes instead of {fewest}: one hour costs {plan.nodes * cores} core-hours instead of "
        f"{fewest * cores}, which pays off if the job runs more than {times:.2f} × as fast"
    )
    gain = bandwidth_gain(plan, plan.request.measured, fewest)
    return (sentence + (f"; each rank gets {gain:.2f} × the memory bandwidth" if gain else ""),)


def bandwidth_gain(plan: Plan, measured: tuple[Bandwidth, ...], fewest_nodes: int) -> float:
    """Return the measured bandwidth per rank relative to full nodes; 0 without a measurement."""
    saturation = plan.saturation
    if not measured or saturation is None or not saturation.all_cores_mb_s:
        return 0.0
    return (plan.nodes * saturation.mb_s) / (fewest_nodes * saturation.all_cores_mb_s)

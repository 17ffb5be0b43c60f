"""Torus: a grid with periodic boundaries. ``torus:8x8x4``; node numbers are row-major.

Routing follows one dimension after the other in the shorter direction (upwards if both are equal).
"""

import numpy as np

from mpiric.model.errors import MpiricError
from mpiric.model.mapping import Numbers, Routed, RoutedNetwork, Weights, routed

KIND = "torus"
_MOST_DIMENSIONS = 8


def described(counts: tuple[int, ...]) -> RoutedNetwork:
    """Build a torus of these extents."""
    if len(counts) > _MOST_DIMENSIONS:
        raise MpiricError(
            f"a torus has {len(counts)} dimensions", hint=f"up to {_MOST_DIMENSIONS} are supported"
        )
    extents = np.array(counts)
    strides = np.concatenate((np.cumprod(extents[::-1])[::-1][1:], [1]))
    nodes = int(extents.prod())

    def steps(one: Numbers, other: Numbers, dimension: int) -> Numbers:
        """Return the number of steps, negative for steps down."""
        extent = extents[dimension]
        up = (other // strides[dimension] - one // strides[dimension]) % extent
        signed: Numbers = np.where(2 * up > extent, up - extent, up)
        return signed

    def distance(one: Numbers, other: Numbers) -> Weights:
        return sum(
            (np.abs(steps(one, other, d)).astype(np.float64) for d in range(len(counts))),
            start=np.zeros(len(one)),
        )

    def route(one: Numbers, other: Numbers) -> Routed:
        """Number links: 2 d leaves a node upwards in dimension d, 2 d + 1 downwards."""
        parts = []
        at = one.copy()
        for d in range(len(counts)):
            remaining = steps(at, other, d)
            for _ in range(int(np.abs(remaining).max(initial=0))):
                moving = np.flatnonzero(remaining)
                sign = np.sign(remaining[moving])
                parts.append((moving, at[moving] * 2 * len(counts) + 2 * d + (sign < 0)))
                place = at[moving] // strides[d] % extents[d]
                at[moving] += ((place + sign) % extents[d] - place) * strides[d]
                remaining[moving] -= sign
        return routed(*parts)

    def link_name(link: int) -> str:
        node, way = divmod(link, 2 * len(counts))
        place = ",".join(str(node // strides[d] % extents[d]) for d in range(len(counts)))
        return f"({place}) {'+-'[way % 2]}{'xyzuvw'[way // 2] if way < 12 else way // 2}"

    farthest = float(sum(extent // 2 for extent in counts))
    return RoutedNetwork(
        KIND,
        ("network",),
        (),
        (farthest,),
        np.ones(2 * len(counts) * nodes),
        link_name,
        route,
        distance=distance,
        extents=counts,
    )

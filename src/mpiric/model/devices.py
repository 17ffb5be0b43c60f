"""GPUs and network adapters of a node."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from mpiric.model.dataclass import dataclass

GPU_VARIABLES = {  # PCI vendor → variable that restricts a process to some GPUs
    "10de": "CUDA_VISIBLE_DEVICES",
    "1002": "ROCR_VISIBLE_DEVICES",
    "8086": "ZE_AFFINITY_MASK",
}


@dataclass(frozen=True)
class Gpu:
    """Accelerator or a tile of one, and the hardware threads close to it."""

    index: int
    name: str
    pus: tuple[int, ...]
    number: str = ""  # its number in `variable`: "3", or "1.0" for a tile
    variable: str = ""
    bridges: tuple[str, ...] = ()  # PCI bridges above it, from the root


@dataclass(frozen=True)
class Adapter:
    """Network adapter with a library of its own (RDMA, Slingshot), and the hardware threads close to it."""

    name: str  # name that its library uses: "mlx5_0:1" (with the port), "cxi0"
    pus: tuple[int, ...]
    bridges: tuple[str, ...] = ()
    on_ethernet: bool = False


class Devices(NamedTuple):
    """Devices of a node, in bus order."""

    gpus: tuple[Gpu, ...] = ()
    adapters: tuple[Adapter, ...] = ()


def devices_of(gpus: Iterable[tuple[Gpu, int]], adapters: Iterable[Adapter]) -> Devices:
    """Number the GPUs, and their tiles as GPUs; adapters on Ethernet count if all are."""
    tiled: list[Gpu] = []
    cards: dict[str, int] = {}
    for gpu, tiles in gpus:
        card = cards[gpu.variable] = cards.get(gpu.variable, -1) + 1
        for tile in range(max(1, tiles)):
            number, name = (
                (f"{card}.{tile}", f"{gpu.name}, tile {tile}") if tiles > 1 else (str(card), gpu.name)
            )
            tiled.append(replace(gpu, index=len(tiled), number=number, name=name))
    every = tuple(adapters)
    return Devices(tuple(tiled), tuple(a for a in every if not a.on_ethernet) or every)

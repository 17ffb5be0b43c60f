"""Compare the tuner's decisions on 64, 512 and 4096 ranks, simulated by SimGrid's SMPI, with the best ones.

The algorithms of src/runtime/coll and the choices of MPICH run unchanged in simulated time, one rank per
host, on a network without contention in the middle. The tuner's learner gets these times, with disturbances
as on a system of this size. `--validate` compares simulated times on 4 and 16 hosts with measured ones on the
slow network of the virtual cluster under MPICH, and whether the same candidates are the best. Needs Debian's
libsimgrid-dev (`smpicxx`, `smpirun`).
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from platform import machine
from signal import SIGKILL
from statistics import geometric_mean, median
from threading import Timer
from typing import Any

from benchmarks._places import Place, place
from benchmarks._programs import Bed, bed
from benchmarks._report import RESULTS, Result, options, run, tell
from mpiric.host.installation.native import native_part
from mpiric.model.errors import MpiricError, NotFoundError, ProgramFailedError
from mpiric.model.policy import Line, Policy
from mpiric.workflows.policies import lay_out, strictly, tuner_for

ROOT = Path(__file__).parents[1]
RUNTIME = ROOT / "src/runtime"
_SOURCES = (
    "coll/*.cpp coll/*/*.cpp tune/learner.cpp tune/race.cpp world/agreement.cpp world/datatypes.cpp "
    "world/library.cpp world/predefined_constants.cpp"
).split()
_REPLACED = RUNTIME / "coll/scratch.cpp"  # the simulation program has its own version
_LIMIT_S = 900.0
_SMALL = 8  # ranks of a small communicator on which a policy is learned
_CALLS = 1  # consecutive calls
_VALIDATED = (4, 16)  # hosts
_CALLS_VALIDATED = 8
_PROBED_S = "0.15"
_PLACE = RESULTS / "scale"
_VALIDATION_WORK = {
    "allreduce": (8, 16_384, 262_144),
    "bcast": (8, 16_384, 262_144),
    "allgather": (8, 16_384),
    "alltoall": (8, 4096),
}
_SHARED = "SPLITDUPLEX"  # messages of a host share its link in each direction
_REDUCED = "4Gf"  # bytes a second that one core adds up
COLUMNS = {
    "network": "network",
    "ranks": "ranks",
    "collective": "collective",
    "sizes": "sizes",
    "chosen": "chosen ÷ best",
    "worst": "worst size",
    "small": f"policy of {_SMALL} ranks ÷ best",
    "library": "library ÷ best",
    "calls": "calls to learn, median",
    "lost": "lost by learning, s, median",
}
VALIDATION = {
    "ranks": "ranks",
    "collective": "collective",
    "bytes": "bytes",
    "candidate": "candidate",
    "measured_us": "measured µs",
    "simulated_us": "simulated µs",
    "ratio": "simulated ÷ measured",
    "lost": "simulated best ÷ measured best",
}


@dataclass(frozen=True)
class Network:
    """Network: its links from hosts to the middle, and the overhead of a message at both ends."""

    latency_us: float  # latency between two hosts
    rate_mbit: float  # rate of data in Mbit/s
    overhead_us: float  # overhead of a send, and of a receive


NETWORKS = {
    "slow": Network(1010, 94, 5),  # eth0 of the virtual cluster: 100 Mbit/s with the headers of TCP
    "fast": Network(8, 2000, 1),  # fast0
    "fabric": Network(1.2, 100_000, 0.3),  # such as InfiniBand
}
_WORK = {
    "allreduce": (8, 1024, 16_384, 262_144, 4_194_304),
    "bcast": (8, 1024, 16_384, 262_144, 4_194_304),
    "allgather": (8, 256, 4096),
    "alltoall": (8, 256),
    "reduce": (8, 16_384, 1_048_576),
    "barrier": (0,),
}
_MANY, _LONG = 1000, 1 << 20  # number of ranks above which messages are at most _LONG bytes
_MOST_RANKS = {"alltoall": 64, "allgather": 512}  # memory, and messages that grow as p²


def main() -> int:
    """Simulate the selected networks and numbers of ranks."""
    parser = options("scale", (__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--network",
        action="append",
        choices=tuple(NETWORKS),
        help="simulate only this network (default: fast and fabric)",
    )
    parser.add_argument("--ranks", action="append", type=int, help="ranks (default 8, 64, 512 and 4096)")
    parser.add_argument(
        "--time-limit",
        type=float,
        default=_LIMIT_S,
        metavar="SECONDS",
        help="time limit in s of a network and number of ranks (default 900)",
    )
    parser.add_argument(
        "--validate",
        action="store_true",
        help="compare with measured times on --hosts virtual hosts; needs root",
    )
    parser.add_argument(
        "--hosts", action="append", type=int, help="numbers of hosts of the validation (default 4 and 16)"
    )
    return run("scale", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Run the simulation or the validation."""
    if not shutil.which("smpicxx") or not shutil.which("smpirun"):
        raise NotFoundError("SimGrid's smpicxx is not installed", hint="apt-get install libsimgrid-dev")
    if any(count < 2 or count & (count - 1) for count in arguments.ranks or ()):
        raise MpiricError("the number of ranks must be a power of two", hint="--ranks 64")
    program = _build()
    if arguments.validate:
        return validate(program, arguments.hosts or _VALIDATED, quick=arguments.quick)
    ranks = arguments.ranks or ([_SMALL, 64] if arguments.quick else [_SMALL, 64, 512, 4096])
    points_found: list[dict[str, Any]] = []
    for name in arguments.network or (["fast"] if arguments.quick else ["fast", "fabric"]):
        for count in sorted({_SMALL, *ranks}):
            specs = list(words_for(count))
            tell(f"{name}: {count} ranks, {len(specs)} points")
            points = simulate(program, NETWORKS[name], count, specs, arguments.time_limit)
            points_found += [{"network": name, **point} for point in points]
    return Result(COLUMNS, rows := rows_of(points_found), summary_of(rows), {"points": points_found})


def words_for(ranks: int) -> Iterator[str]:
    """Yield the points for a number of ranks, the fastest first."""
    points = [
        (size, collective)
        for collective, sizes in _WORK.items()
        if ranks <= _MOST_RANKS.get(collective, ranks)
        for size in sizes
        if ranks < _MANY or size <= _LONG
    ]
    yield from (f"{collective}:{size}" for size, collective in sorted(points))


def rows_of(points: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each network, number of ranks and collective; times relative to the best candidate."""
    small = {
        (point["network"], point["collective"], point["bytes"]): point["chosen"]
        for point in points
        if point["ranks"] == _SMALL
    }
    grouped: dict[tuple[str, int, str], list[Mapping[str, Any]]] = {}
    for point in points:
        if point["ranks"] != _SMALL:
            grouped.setdefault((point["network"], point["ranks"], point["collective"]), []).append(point)
    rows = []
    for (network, ranks, collective), mine in grouped.items():
        chosen = [point["chosen_s"] / point["best_s"] for point in mine]
        by_small = [
            point["times"].get(small[network, collective, point["bytes"]], point["times"]["library"])
            / point["best_s"]
            for point in mine
        ]
        rows.append(
            {
                "network": network,
                "ranks": ranks,
                "collective": collective,
                "sizes": len(mine),
                "chosen": mean(chosen),
                "worst": max(chosen),
                "small": mean(by_small),
                "library": mean([point["times"]["library"] / point["best_s"] for point in mine]),
                "calls": median(point["calls"] for point in mine),
                "lost": median(point["lost_s"] for point in mine),
            }
        )
    return rows


def mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean."""
    return geometric_mean(ratios)


def summary_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the summary: times relative to the best candidates, over all rows."""
    if not rows:
        return "Nothing beyond the small communicator was simulated."
    chosen = mean([row["chosen"] for row in rows])
    small, library = mean([row["small"] for row in rows]), mean([row["library"] for row in rows])
    return (
        f"Times relative to the best candidate, geometric mean: {chosen:.3f} as chosen there, "
        f"{small:.3f} by the policy learned on {_SMALL} ranks, {library:.3f} by the library's default."
    )


def _build() -> Path:
    """Compile outdated objects of the program, link it and return its path."""
    sources = [path for pattern in _SOURCES for path in RUNTIME.glob(pattern) if path != _REPLACED]
    sources.append(Path(__file__).parent / "_scale.cpp")
    target = _PLACE / "scale"
    target.parent.mkdir(parents=True, exist_ok=True)
    objects = {path: _PLACE / f"{path.parent.name}-{path.stem}.o" for path in sorted(sources)}
    old = [path for path in objects if not _is_fresh(objects[path])]
    if not old and target.is_file():
        return target
    tell(f"compiling {len(old)} files")
    flags = ["-std=c++20", "-O2", "-w", "-DMPIRIC_MPI_HEADER=<mpi.h>", '-DMPIRIC_FAMILY="smpi"']
    shim = ["-include", str(Path(__file__).parent / "_scale_lacking.hpp")]
    folders = [f"-I{RUNTIME}", f"-I{RUNTIME}/base/arch/{machine()}"]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        commands = [
            [*flags, *shim, *folders, "-MMD", "-c", str(path), "-o", str(objects[path])] for path in old
        ]
        list(pool.map(_smpicxx, commands))
    _smpicxx([*map(str, objects.values()), "-o", str(target), "-ldl"])
    return target


def _is_fresh(target: Path) -> bool:
    """Return whether an object is newer than its sources, which the compiler lists in a file `.d`."""
    try:
        made_of = target.with_suffix(".d").read_text().replace("\\\n", " ").split()[1:]
        return all(Path(name).stat().st_mtime < target.stat().st_mtime for name in made_of)
    except OSError:
        return False


def _smpicxx(arguments: Sequence[str]) -> None:
    done = subprocess.run(["smpicxx", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ProgramFailedError(f"smpicxx cannot build the program: {done.stderr.strip()[-500:]}")


def platform(network: Network, hosts: int, sharing: str = _SHARED) -> str:
    """Return the platform file: hosts around a middle without contention, two links between two hosts."""
    rate, latency = f"{network.rate_mbit / 8:g}MBps", f"{network.latency_us / 2:g}us"
    return (
        '<?xml version="1.0"?>\n'
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        '<platform version="4.1">\n'
        f' <cluster id="all" prefix="n" suffix="" radical="0-{hosts - 1}" speed="{_REDUCED}" '
        f'bw="{rate}" lat="{latency}" sharing_policy="{sharing}"/>\n'
        "</platform>\n"
    )


def smpirun_line(network: Network, ranks: int, files: Path, sharing: str = _SHARED) -> list[str]:
    """Return the launch line of a simulation, whose platform is written into a directory."""
    (files / "platform.xml").write_text(platform(network, ranks, sharing))
    (files / "hosts").write_text("".join(f"n{at}\n" for at in range(ranks)))
    end = f"0:{network.overhead_us * 1e-6:g}:0"
    settings = (
        *("smpi/simulate-computation:no", "smpi/privatization:no", "surf/precision:1e-9"),
        *("smpi/lat-factor:0:1", "smpi/bw-factor:0:1", "smpi/wtime:0", "smpi/coll-selector:mpich"),
        *(f"smpi/{what}:{end}" for what in ("os", "ois", "or")),
        "contexts/stack-size:128",
    )
    return [
        *("smpirun", "-np", str(ranks), "-platform", str(files / "platform.xml")),
        *("-hostfile", str(files / "hosts"), *(f"--cfg={setting}" for setting in settings)),
        "--log=root.thresh:error",
    ]


def simulate(
    program: Path, network: Network, ranks: int, specs: Sequence[str], limit_s: float, calls: int = _CALLS
) -> list[dict[str, Any]]:
    """Return the program's output for each point, with consecutive calls, until the time limit."""
    with tempfile.TemporaryDirectory() as place_of_files:
        argv = [*smpirun_line(network, ranks, Path(place_of_files)), str(program), str(calls), *specs]
        points: list[dict[str, Any]] = []
        complaint = ""
        with subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        ) as process:
            timer = Timer(limit_s, os.killpg, (process.pid, SIGKILL))
            timer.start()
            try:
                for line in process.stdout or ():
                    if line.startswith("{") and line.endswith("}\n"):
                        points.append(json.loads(line))
                        tell("{collective} of {bytes} B".format_map(points[-1]))
                    else:
                        complaint += line
            finally:
                timer.cancel()
                if process.poll() is None:
                    os.killpg(process.pid, SIGKILL)
    if process.returncode == -SIGKILL:
        tell("time limit reached: only the points simulated so far count")
    elif process.returncode:
        raise ProgramFailedError(f"smpirun failed: {complaint.strip()[-400:]}")
    return points


def validate(program: Path, all_hosts: Sequence[int], *, quick: bool) -> Result:
    """Compare simulated and measured times of each candidate, one rank on each host."""
    mpich = bed("mpich")
    rows: list[dict[str, Any]] = []
    for hosts in all_hosts[:1] if quick else all_hosts:
        specs = [f"{collective}:{size}" for collective, sizes in _VALIDATION_WORK.items() for size in sizes]
        points = simulate(
            program,
            NETWORKS["slow"],
            hosts,
            specs[:2] if quick else specs,
            _LIMIT_S,
            _CALLS_VALIDATED,
        )
        with place("slow", "eth0", 262_144, hosts, 1) as where:
            measured = _measured(mpich, where, points)
        rows += [row for at, point in enumerate(points) for row in _compared(point, measured[at])]
    ratios = sorted(row["ratio"] for row in rows)
    middle, low, high = median(ratios), ratios[len(ratios) // 10], ratios[-1 - len(ratios) // 10]
    lost = [row["lost"] for row in rows if row["lost"]]
    return Result(
        VALIDATION,
        rows,
        f"Simulated ÷ measured: median {middle:.2f}, deciles {low:.2f} to {high:.2f}. The best candidate in "
        f"the simulation takes {mean(lost):.3f} times as long as the best measured one, geometric mean of "
        f"{len(lost)}.",
    )


def _compared(point: Mapping[str, Any], measured: Mapping[str, float]) -> list[dict[str, Any]]:
    simulated = {name: point["times"][name] for name in measured}
    best = min(simulated, key=simulated.__getitem__)
    return [
        {
            "ranks": point["ranks"],
            "collective": point["collective"],
            "bytes": point["bytes"],
            "candidate": name,
            "measured_us": measured[name] * 1e6,
            "simulated_us": simulated[name] * 1e6,
            "ratio": simulated[name] / measured[name],
            "lost": measured[name] / min(measured.values()) if name == best else None,
        }
        for name in measured
    ]


def _measured(mpich: Bed, where: Place, points: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    """Measure, for each point, candidate → seconds a call of the slowest rank, on the virtual cluster.

    MPICH's own choice is left out: SMPI's idea of it is another version. One candidate of each point at a
    time goes into a launch.
    """
    remaining = [[name for name in point["times"] if name != "library"] for point in points]
    times: list[dict[str, float]] = [{} for _ in points]
    probe = native_part("probe-collectives", mpich.mpi.abi_families[0])
    while any(remaining):
        turn = {at: names.pop() for at, names in enumerate(remaining) if names}
        tell(f"{where.nodes} hosts: {', '.join(sorted(set(turn.values())))}")
        lines = tuple(
            Line(points[at]["collective"], name, start=points[at]["bytes"], end=points[at]["bytes"] + 1)
            for at, name in turn.items()
        )
        environment = {
            **mpich.environment,
            **where.environment(mpich),
            **strictly(lay_out(Policy(mpich.mpi.implementation, mpich.mpi.version, lines), _PLACE)),
            "LD_PRELOAD": tuner_for(mpich.mpi).library,
        }
        specs = [f"{points[at]['collective']}:{where.ranks}:1:{points[at]['bytes']}" for at in turn]
        output = where.execute([*where.line(mpich), probe, _PROBED_S, *specs], environment)
        rows = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        for (at, name), row in zip(turn.items(), rows, strict=True):
            times[at][name] = float(row["median_s"])
    return times


if __name__ == "__main__":
    sys.exit(main())

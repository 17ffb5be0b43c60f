"""Measure how often `mpiric doctor` names the cause of sick programs and environments first.

Each case is a launch line of a user, under each library to which it applies. *Right*: the first finding, or
the error with which doctor refuses the line, is the cause. *Wrong*: another finding comes first. *Silent*:
no finding. A healthy control is right if its first finding is not a cause of a sick case or a known ending.
Other load on the machine, and that this is a container, are true findings and left out. Some cases need
root, or control groups of version 1. ``--mpi`` takes the beginning of a label: mpich-4, openmpi-5, intelmpi.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks._kept_rows import KeptRows, offer_parts
from benchmarks._programs import Bed, chosen, offer_choice, releases
from benchmarks._report import Result, options, run, tell
from mpiric.host.packaged import packaged_table

COLUMNS = {"case": "case", "mpi": "MPI", "expected": "cause", "first": "first finding", "result": "result"}
_SOURCE = Path(__file__).with_name("_sick.c")
_IGNORED = {"cpus-taken", "jobs-overlap", "container"}  # may be true on the machine of the benchmark
_LIMIT_S = 60
_HANGS = "6s"  # limit of runs that do not end; includes the start under load
_MEMORY = Path("/sys/fs/cgroup/memory")  # control groups of version 1
_SMALL_SHM = "mount -t tmpfs -o size=1m tmpfs /dev/shm && exec"
_MPICH, _OPENMPI = ("mpich-5", "mpich-4"), ("openmpi-5", "openmpi-4")
_HYDRA = (*_MPICH, "intelmpi")
_ALL = (*_HYDRA, *_OPENMPI)
_OTHER = {"mpich": "openmpi-5", "openmpi": "mpich-5"}  # library of a wrong launcher
_FAMILY = {"mpich": "mpich", "openmpi": "openmpi", "intelmpi": "mpich"}


@dataclass(frozen=True)
class Sick:
    """A launch line; ``{sick}`` is the program, ``{launch}`` the launcher, ``{start}`` with two ranks.

    ``{bind}`` is the option that binds ranks to cores.
    """

    name: str
    line: str
    causes: tuple[str, ...]  # ids of findings that name the cause; () for a healthy control
    mpis: tuple[str, ...] = _ALL
    environment: Mapping[str, str] | None = None
    around: tuple[str, ...] = ()  # command in front of mpiric
    names: str = ""  # part of the first finding
    error: str = ""  # part of the error with which doctor refuses the line
    needs_root: bool = False
    limit: str = "20s"


def _in_shell(script: str) -> tuple[str, ...]:
    return ("sh", "-c", f'{script} "$@"', "sh")


CASES = (
    Sick("illegal instruction", "{start} {sick} signal 4", ("illegal-instruction",)),
    Sick("segmentation fault", "{start} {sick} signal 11", ("segmentation-fault",)),
    Sick("division by zero", "{start} {sick} signal 8", ("floating-point-exception",)),
    Sick("killed from outside", "{start} {sick} signal 9", ("killed",)),
    Sick("abort", "{start} {sick} signal 6", ("aborted",)),
    Sick("assertion", "{start} {sick} assert", ("aborted",)),
    Sick("MPI_Abort", "{start} {sick} mpi_abort", ("called-abort",)),
    Sick("message truncated", "{start} {sick} truncate", ("message-truncated",)),
    Sick("program not found", "{start} ./missing", ("program-not-found",), error="missing"),
    Sick("not executable", "{start} ./plain.sh", ("program-not-executable", "program-not-found")),
    Sick("wrong architecture", "{start} ./other", ("wrong-architecture",)),
    Sick("library missing", "{start} {linked}", ("library-not-found",)),
    Sick("Python module missing", "{start} python3 -c 'import mpi5py'", ("python-module-missing",)),
    Sick("no display", "{start} sh -c 'echo Unable to open display >&2; exit 1'", ("no-display",)),
    Sick("too many open files", "{start} {sick} files", ("too-many-open-files",)),
    Sick("disk full", "{start} {sick} disk", ("disk-full",)),
    Sick("memory limit", "{start} sh -c 'ulimit -v 1500000; exec {sick} memory'", ("allocation-failed",)),
    Sick(
        "out of memory",
        "{start} sh -c 'echo $$ >{group}/cgroup.procs; exec {sick} memory'",
        ("out-of-memory-killed", "out-of-memory-of-step"),
        needs_root=True,
    ),
    Sick(
        "small /dev/shm",
        "{start} {sick} communicate",
        ("shared-memory-too-small-bus-error", "shared-memory-too-small"),
        mpis=("mpich-5",),  # others use less memory, or files
        around=("unshare", "-m", *_in_shell(_SMALL_SHM)),
        needs_root=True,
    ),
    Sick(
        "user namespaces",
        "{start} unshare -U -r {sick} large",
        ("copy-between-namespaces", "shared-memory-between-namespaces"),
        mpis=_MPICH,
    ),
    Sick("wrong launcher", "{other} -n 2 {sick}", ("ranks-alone",), (*_MPICH, *_OPENMPI),
         error="belongs to"),
    Sick("wrong launcher, script", "{other} -n 2 ./app.sh", ("ranks-alone", "pmi-server-missing"),
         (*_MPICH, *_OPENMPI)),
    Sick("not enough slots", "{launch} -n 64 {sick}", ("not-enough-slots",), _OPENMPI),
    Sick("transports", "{start} {sick}", ("ranks-not-connected", "message-lost"), _OPENMPI,
         {"OMPI_MCA_pml": "nothing"}),  # Open MPI 4 may lose its text, and doctor tells how to see it
    Sick("option of another MPI", "{launch} --mca btl self -n 2 {sick}", ("bad-launcher-option",), _HYDRA,
         error="--mca"),
    Sick("network provider", "{start} {sick} large", ("network-provider-missing",), ("mpich-5",),
         {"FI_PROVIDER": "nothing", "MPIR_CVAR_CH4_NETMOD": "ofi"}),
    Sick("host unknown", "{launch} -hosts nowhere.invalid -n 2 {sick}",
         ("host-name-unknown", "daemon-lost"), _HYDRA, names="getent hosts"),
    Sick("no directory", "{launch} -wdir /no/where -n 2 {sick}", ("working-directory-missing",),
         _MPICH),  # Intel MPI runs in the current directory instead
    Sick("one CPU", "taskset -c 0 {start} {sick} communicate", ("ranks-overlap",), _HYDRA),
    Sick("stacked ranks", "{start} taskset -c 0 {sick} communicate", ("ranks-overlap", "ranks-share-a-cpu")),
    Sick("too many ranks", "{launch} -n 8 {sick} communicate", ("more-ranks-than-cpus",), _HYDRA),
    Sick("too many threads", "{start} {sick} threads", ("oversubscribed",)),
    Sick("imbalance", "{start} {sick} imbalance", ("load-imbalance",)),
    Sick("symbol missing", "{start} {unresolved}", ("symbol-missing",)),
    Sick("invalid argument", "{start} {sick} invalid", ("invalid-argument",)),
    Sick("host unknown to ssh", "{launch} --host nowhere.invalid -n 1 {sick}",
         ("host-name-unknown", "start-program-of-hosts-missing", "daemon-lost"), _OPENMPI),
    Sick("no directory, Open MPI", "{launch} --wdir /no/where -n 2 {sick}", ("working-directory-missing",),
         _OPENMPI),
    Sick("bound by a variable", "{start} {threaded} communicate", ("ranks-overlap",), _HYDRA,
         {"GOMP_CPU_AFFINITY": "0"}, names="GOMP_CPU_AFFINITY"),
    Sick("threads on one core", "{launch} {bind} -n 1 {sick} pair", ("threads-stacked",),
         (*_MPICH, *_OPENMPI)),
    Sick("another job", "{start} {sick}", ("jobs-overlap",), _OPENMPI,
         around=("sh", "-c", '$OTHER_JOB & "$@"; kill $!', "sh")),
    Sick("passive target", "{start} {sick} passive", ("passive-target-waits",), (*_HYDRA, "openmpi-5")),
    Sick("setting in a file", "{start} {sick} exchange", ("shared-memory-off",), _OPENMPI,
         {"HOME": "{work}"}, names="mca-params.conf:1"),
    Sick("setting in a file of the line", "{launch} --tune my.conf -n 2 {sick} exchange",
         ("shared-memory-off",), _OPENMPI, names="my.conf:1"),
    Sick("late start", "{start} sh -c 'sleep 3; exec {sick}'", ("time-outside-mpi",)),
    Sick("late end", "{start} {sick} after", ("time-outside-mpi",)),
    Sick("sleeping", "{start} {sick} sleeps", ("idle-cpus",)),
    Sick("opening files", "{start} {sick} opens", ("metadata-storm",)),
    Sick("page faults", "{start} {sick} faults", ("kernel-time",)),
    Sick("polling", "{start} {sick} polls", ("polling",)),
    Sick("deadlock of sends", "{start} {sick} send_send", ("deadlock",), (*_MPICH, *_OPENMPI),
         limit=_HANGS, names="MPI_Send"),
    Sick("deadlock of synchronous sends", "{start} {sick} send_send 1", ("deadlock",), ("intelmpi",),
         limit=_HANGS, names="MPI_Ssend"),  # its MPI_Send buffers 64 MiB as well
    Sick("rank missing", "{start} {sick} late", ("missing-participant",), limit=_HANGS,
         names="ank 1 has not entered MPI_Barrier"),
    Sick("waits for input", "{start} {sick} reads", ("waits-for-input",), limit=_HANGS,
         around=_in_shell("exec 3<>endless.fifo <&3;"), names="ank 0 waits for standard input"),
    Sick("message that nobody sends", "{start} {sick} unsent", ("deadlock",), limit=_HANGS, names="MPI_Recv"),
    Sick("communicators in different order", "{start} {sick} reversed", ("deadlock",), limit=_HANGS,
         names="MPI_Barrier"),
    Sick("collectives in different order", "{start} {sick} mixed", ("deadlock", "message-truncated"),
         limit=_HANGS),
    Sick("rank busy before MPI_Init", "{start} {sick} before", ("waits-in-init",), limit=_HANGS,
         names="ank 1"),
    Sick("rank asleep before MPI_Init", "{start} {sick} sleeps_before", ("waits-in-init",), limit=_HANGS,
         names="ank 1"),
    Sick("healthy", "{start} {sick}", ()),
    Sick("healthy, ended at the limit", "{start} {sick} steps", (), limit=_HANGS),
    Sick("healthy, one rank", "{launch} -n 1 {sick}", ()),
    Sick("healthy, no launcher", "{sick}", ()),
    Sick("healthy, large messages", "{start} {sick} large", ()),
    Sick("wrong input", "{start} {sick} input", ()),
)  # fmt: skip
_CAUSES = {
    *(cause for case in CASES for cause in case.causes),
    *(entry["id"] for entry in packaged_table("lab/endings")["ending"]),
}


@dataclass(frozen=True)
class _Chosen:
    """A case under one library, as `chosen` selects it."""

    sick: Sick
    mpi: str

    @property
    def name(self) -> str:
        return self.sick.name


def prepare_files(work: Path, bed: Bed) -> None:
    """Make files that cannot be started, programs without a library or a symbol, and files of settings."""
    (work / "plain.sh").write_text("#!/bin/sh\n")
    (work / "other").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\0\xf7\0\x01\0\0\0" + bytes(40))
    (work / "other").chmod(0o755)
    (work / "app.sh").write_text(f"#!/bin/sh\nexec {bed.build(_SOURCE, 'sick', '-pthread')}\n")
    (work / "app.sh").chmod(0o755)
    (work / "absent.c").write_text("int absent(void) { return 0; }\n")
    (work / "unresolved.c").write_text("int absent(void);\nint (*symbol)(void) = absent;\n")
    (work / "empty.c").write_text("int nothing;\n")
    library = ["cc", "-shared", "-fPIC", "-o"]
    for name, source in (("absent", "absent.c"), ("changed", "absent.c")):
        _call([*library, work / f"lib{name}.so", work / source], bed)
    compiler = [bed.mpi.compilers["c"], "-pthread", _SOURCE, "-Wl,--no-as-needed", f"-L{work}", "-lm"]
    _call([*compiler, "-o", work / "linked", "-labsent"], bed)
    _call([*compiler, "-o", work / "unresolved", work / "unresolved.c", "-lchanged"], bed)
    (work / "libabsent.so").unlink()
    _call([*library, work / "libchanged.so", work / "empty.c"], bed)
    os.mkfifo(work / "endless.fifo")
    (work / ".openmpi").mkdir()
    (work / ".openmpi/mca-params.conf").write_text("btl = tcp,self\n")
    (work / "my.conf").write_text("--mca btl tcp,self\n")


def _call(argv: Sequence[str | Path], bed: Bed) -> None:
    subprocess.run(argv, env=bed.environment, check=True, capture_output=True)


def diagnose(case: Sick, bed: Bed, other: str, work: Path, group: Path) -> tuple[list[dict[str, str]], str]:
    """Return the findings, and the error if doctor refuses the line."""
    launch = bed.mpi.launcher
    arguments = {
        "sick": bed.build(_SOURCE, "sick", "-pthread"), "linked": work / "linked", "launch": launch,
        "start": f"{launch} -n 2", "other": other, "group": group,
        "threaded": bed.build(_SOURCE, "threaded", "-pthread", "-fopenmp"),
        "unresolved": f"env LD_LIBRARY_PATH={work}:{bed.environment['LD_LIBRARY_PATH']} {work}/unresolved",
        "bind": "--bind-to core" if bed.mpi.implementation == "openmpi" else "-bind-to core",
    }  # fmt: skip
    variables = dict(bed.environment, OTHER_JOB=f"{launch} -n 2 {arguments['sick']} long")
    variables |= {name: value.format(work=work) for name, value in (case.environment or {}).items()}
    family = _FAMILY[bed.mpi.implementation]
    mpiric = [
        sys.executable,
        "-m",
        "mpiric",
        "doctor",
        "--json",
        "--limit",
        case.limit,
        "--abi",
        family,
        "--",
    ]
    script = f'exec "$@" {case.line.format_map(arguments)}'
    done = subprocess.run(
        [*case.around, "sh", "-c", script, "sh", *mpiric],
        cwd=work, env=variables, timeout=_LIMIT_S,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, errors="replace",
    )  # fmt: skip
    try:
        findings = json.loads(done.stdout)["findings"]
    except ValueError:
        lines = [line for line in done.stderr.splitlines() if line.startswith("mpiric: ")]
        return [], lines[-1] if lines else done.stderr[-200:]
    return [finding for finding in findings if finding["id"] not in _IGNORED - {*case.causes}], ""


def judge(case: Sick, findings: Sequence[Mapping[str, str]], error: str) -> str:
    """Return whether the diagnosis is right, wrong or silent."""
    if not case.causes:
        return "wrong" if error or (findings and findings[0]["id"] in _CAUSES) else "right"
    if error:
        return "right" if case.error and case.error in error else "wrong"
    if not findings:
        return "silent"
    first = findings[0]
    is_named = any(case.names in first.get(part, "") for part in ("says", "evidence", "fix"))
    return "right" if first["id"] in case.causes and (is_named or not case.names) else "wrong"


def _rows(item: _Chosen, available: Mapping[str, Bed], work: Path, group: Path) -> list[dict[str, Any]]:
    """Return the row of a case under a library."""
    case, bed = item.sick, available[item.mpi]
    work = work / item.mpi
    if not work.is_dir():
        work.mkdir()
        prepare_files(work, bed)
    tell(f"{case.name}: {item.mpi}")
    other = available.get(_OTHER.get(bed.mpi.implementation, ""))
    findings, error = diagnose(case, bed, other.mpi.launcher if other else "", work, group)
    row = {
        "case": case.name,
        "mpi": bed.mpi.label,
        "expected": case.causes[0] if case.causes else "none",
        "first": error or next((finding["id"] for finding in findings), ""),
        "findings": [finding["id"] for finding in findings],
        "result": judge(case, findings, error),
    }
    return [row]


def _is_possible(item: _Chosen, available: Mapping[str, Bed], group: Path) -> bool:
    line, other = item.sick.line, _OTHER.get(available[item.mpi].mpi.implementation, "")
    if item.sick.needs_root and os.geteuid() != 0:
        return False
    return ("{group}" not in line or group.is_dir()) and ("{other}" not in line or other in available)


def _measure(arguments: argparse.Namespace) -> Result:
    available, table = releases(_ALL), KeptRows("diagnoses", arguments)
    cases = [_Chosen(case, mpi) for case in CASES for mpi in case.mpis[: 1 if arguments.quick else None]]
    group = _MEMORY / f"mpiric-diagnoses-{os.getpid()}"
    with tempfile.TemporaryDirectory(prefix="mpiric-bench-") as name:
        try:
            if os.geteuid() == 0 and _MEMORY.is_dir():
                group.mkdir()
                (group / "memory.limit_in_bytes").write_text(str(256 << 20))
            for item in chosen(cases, available, arguments):
                if _is_possible(item, available, group):
                    measure = partial(_rows, item, available, Path(name), group)
                    table.add(f"{item.name}: {item.mpi}", measure)
        finally:
            if group.is_dir():
                group.rmdir()
    return Result(COLUMNS, table.rows, summarise(table.rows) + table.remark)


def summarise(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the shares of right, wrong and silent diagnoses, and of clean controls."""
    sick = [row["result"] for row in rows if row["expected"] != "none"]
    controls = [row["result"] for row in rows if row["expected"] == "none"]
    return (
        f"Cause first: {sick.count('right')} of {len(sick)}; wrong cause first: {sick.count('wrong')}; "
        f"silent: {sick.count('silent')}; controls clean: {controls.count('right')} of {len(controls)}."
    )


def main() -> int:
    """Parse options and run."""
    parser = options("diagnoses", __doc__ or "")
    offer_choice(parser)
    offer_parts(parser)
    return run("diagnoses", parser.parse_args(), _measure)


if __name__ == "__main__":
    sys.exit(main())

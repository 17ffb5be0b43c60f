"""Measure how often `mpiric doctor` names the cause of sick programs and environments first.

Each case is a launch line of a user, under each library to which it applies. *Right*: the first finding, or
the error with which doctor refuses the line, is the cause. *Wrong*: another finding comes first. *Silent*:
no finding. A healthy control is right if its first finding is not a cause of a sick case or a known ending.
Other load on the machine, and that this is a container, are true findings and left out. Some cases need
root, or control groups of version 1.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._programs import Bed, beds, chosen, offer_choice
from benchmarks._report import Result, options, run, tell
from mpiric.host.packaged import packaged_table

COLUMNS = {"case": "case", "mpi": "MPI", "expected": "cause", "first": "first finding", "result": "result"}
_SOURCE = Path(__file__).with_name("_sick.c")
_IGNORED = {"cpus-taken", "container"}  # true on the machine of the benchmark
_LIMIT_S = 60
_MEMORY = Path("/sys/fs/cgroup/memory")  # control groups of version 1
_SMALL_SHM = "mount -t tmpfs -o size=1m tmpfs /dev/shm && exec"
_ALL, _HYDRA, _OPENMPI = ("mpich", "openmpi", "intelmpi"), ("mpich", "intelmpi"), ("openmpi",)
_OTHER = {"mpich": "openmpi", "openmpi": "mpich"}  # library of a wrong launcher
_FAMILY = {"mpich": "mpich", "openmpi": "openmpi", "intelmpi": "mpich"}


@dataclass(frozen=True)
class Sick:
    """A launch line; ``{sick}`` is the program, ``{launch}`` the launcher, ``{start}`` both for two ranks."""

    name: str
    line: str
    causes: tuple[str, ...]  # ids of findings that name the cause; () for a healthy control
    mpis: tuple[str, ...] = _ALL
    environment: Mapping[str, str] | None = None
    around: tuple[str, ...] = ()  # command in front of mpiric
    error: str = ""  # part of the error with which doctor refuses the line
    needs_root: bool = False


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
        mpis=("mpich",),  # others use less memory, or files
        around=("unshare", "-m", *_in_shell(_SMALL_SHM)),
        needs_root=True,
    ),
    Sick(
        "user namespaces",
        "{start} unshare -U -r {sick} large",
        ("copy-between-namespaces",),
        mpis=("mpich",),
    ),
    Sick("wrong launcher", "{other} -n 2 {sick}", ("ranks-alone",), ("mpich", "openmpi"), error="belongs to"),
    Sick("wrong launcher, script", "{other} -n 2 ./app.sh", ("ranks-alone", "pmi-server-missing"),
         ("mpich", "openmpi")),
    Sick("not enough slots", "{launch} -n 64 {sick}", ("not-enough-slots",), _OPENMPI),
    Sick("transports", "{start} {sick}", ("ranks-not-connected",), _OPENMPI, {"OMPI_MCA_pml": "nothing"}),
    Sick("option of another MPI", "{launch} --mca btl self -n 2 {sick}", ("bad-launcher-option",), _HYDRA,
         error="--mca"),
    Sick("network provider", "{start} {sick} large", ("network-provider-missing",), ("mpich",),
         {"FI_PROVIDER": "nothing", "MPIR_CVAR_CH4_NETMOD": "ofi"}),
    Sick("host unknown", "{launch} -hosts nowhere.invalid -n 2 {sick}", ("host-name-unknown",), _HYDRA),
    Sick("no directory", "{launch} -wdir /nowhere -n 2 {sick}", ("working-directory-missing",), _HYDRA),
    Sick("one CPU", "taskset -c 0 {start} {sick} communicate", ("ranks-overlap",), _HYDRA),
    Sick("stacked ranks", "{start} taskset -c 0 {sick} communicate", ("ranks-overlap", "ranks-share-a-cpu")),
    Sick("too many ranks", "{launch} -n 8 {sick} communicate", ("more-ranks-than-cpus",), _HYDRA),
    Sick("too many threads", "{start} {sick} threads", ("oversubscribed",)),
    Sick("imbalance", "{start} {sick} imbalance", ("load-imbalance",)),
    Sick("healthy", "{start} {sick}", ()),
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
    """Make a script that is not executable, a program of another CPU, and one without its library."""
    (work / "plain.sh").write_text("#!/bin/sh\n")
    (work / "other").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\0\xf7\0\x01\0\0\0" + bytes(40))
    (work / "other").chmod(0o755)
    (work / "app.sh").write_text(f"#!/bin/sh\nexec {bed.build(_SOURCE, 'sick', '-pthread')}\n")
    (work / "app.sh").chmod(0o755)
    library = work / "libabsent.so"
    (work / "absent.c").write_text("int absent(void) { return 0; }\n")
    _call(["cc", "-shared", "-fPIC", work / "absent.c", "-o", library], bed)
    compiler = [bed.mpi.compilers["c"], "-pthread", _SOURCE, "-o", work / "linked"]
    _call([*compiler, "-Wl,--no-as-needed", f"-L{work}", "-labsent", "-lm"], bed)
    library.unlink()


def _call(argv: Sequence[str | Path], bed: Bed) -> None:
    subprocess.run(argv, env=bed.environment, check=True, capture_output=True)


def diagnose(case: Sick, bed: Bed, other: str, work: Path, group: Path) -> tuple[list[str], str]:
    """Return the ids of the findings, and the error if doctor refuses the line."""
    launch = bed.mpi.launcher
    arguments = {
        "sick": bed.build(_SOURCE, "sick", "-pthread"), "linked": work / "linked", "launch": launch,
        "start": f"{launch} -n 2", "other": other, "group": group,
    }  # fmt: skip
    family = _FAMILY[bed.mpi.implementation]
    mpiric = [sys.executable, "-m", "mpiric", "doctor", "--json", "--limit", "20s", "--abi", family, "--"]
    script = f'exec "$@" {case.line.format_map(arguments)}'
    done = subprocess.run(
        [*case.around, "sh", "-c", script, "sh", *mpiric],
        cwd=work, env={**bed.environment, **(case.environment or {})}, timeout=_LIMIT_S,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, errors="replace",
    )  # fmt: skip
    try:
        findings = json.loads(done.stdout)["findings"]
    except ValueError:
        lines = [line for line in done.stderr.splitlines() if line.startswith("mpiric: ")]
        return [], lines[-1] if lines else done.stderr[-200:]
    return [finding["id"] for finding in findings if finding["id"] not in _IGNORED], ""


def judge(case: Sick, findings: Sequence[str], error: str) -> str:
    """Return whether the diagnosis is right, wrong or silent."""
    if not case.causes:
        return "wrong" if error or _CAUSES.intersection(findings[:1]) else "right"
    if error:
        return "right" if case.error and case.error in error else "wrong"
    if not findings:
        return "silent"
    return "right" if findings[0] in case.causes else "wrong"


def _rows(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    available = beds()
    cases = [_Chosen(case, mpi) for case in CASES for mpi in case.mpis[: 1 if arguments.quick else None]]
    is_root = os.geteuid() == 0
    group = _MEMORY / f"mpiric-diagnoses-{os.getpid()}"
    with tempfile.TemporaryDirectory(prefix="mpiric-bench-") as name:
        try:
            if is_root and _MEMORY.is_dir():
                group.mkdir()
                (group / "memory.limit_in_bytes").write_text(str(256 << 20))
            for item in chosen(cases, available, arguments):
                case, bed = item.sick, available[item.mpi]
                needs_group = "{group}" in case.line
                if (case.needs_root and not is_root) or (needs_group and not group.is_dir()):
                    continue
                other = available.get(_OTHER.get(item.mpi, ""))
                if "{other}" in case.line and other is None:
                    continue
                work = Path(name, item.mpi)
                if not work.is_dir():
                    work.mkdir()
                    prepare_files(work, bed)
                tell(f"{case.name}: {item.mpi}")
                findings, error = diagnose(case, bed, other.mpi.launcher if other else "", work, group)
                yield {
                    "case": case.name,
                    "mpi": bed.mpi.label,
                    "expected": case.causes[0] if case.causes else "none",
                    "first": error or next(iter(findings), ""),
                    "findings": findings,
                    "result": judge(case, findings, error),
                }
        finally:
            if group.is_dir():
                group.rmdir()


def summarise(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the shares of right, wrong and silent diagnoses, and of clean controls."""
    sick = [row["result"] for row in rows if row["expected"] != "none"]
    controls = [row["result"] for row in rows if row["expected"] == "none"]
    return (
        f"Cause first: {sick.count('right')} of {len(sick)}; wrong cause first: {sick.count('wrong')}; "
        f"silent: {sick.count('silent')}; controls clean: {controls.count('right')} of {len(controls)}."
    )


def _measure(arguments: argparse.Namespace) -> Result:
    rows = list(_rows(arguments))
    return Result(COLUMNS, rows, summarise(rows))


def main() -> int:
    """Parse options and run."""
    parser = options("diagnoses", __doc__ or "")
    offer_choice(parser)
    return run("diagnoses", parser.parse_args(), _measure)


if __name__ == "__main__":
    sys.exit(main())

"""`mpiric inspect`: show CPU variants, instruction sets and MPI libraries of an executable."""

from pathlib import Path
from typing import Any

import click

from mpiric.build.build_options import split_targets
from mpiric.cli._errors import say
from mpiric.cli._json import print_json
from mpiric.cli._options import cli_command, flag, json_option, option
from mpiric.cli._terminal import status_line
from mpiric.host.facts.local import LocalHost
from mpiric.host.toolchain import this_toolchain
from mpiric.model.translation import How
from mpiric.workflows.build.inspect import Report, inspect
from mpiric.workflows.build.inspect import same_everywhere as common_variant


@cli_command()
@click.argument("exe", type=click.Path(path_type=Path))
@json_option
@flag("--same-everywhere", "Print the best variant that every CPU type of the cluster can run.")
@option(
    "--on",
    "machines",
    "CPU,…",
    "CPU types of the cluster. [default: from Slurm, or from the file $MPIRIC_MACHINES with a line "
    "'HOST TYPE' per host]",
)
def command(exe: Path, *, as_json: bool, same_everywhere: bool, machines: str) -> None:
    """Show the CPU variants and MPI libraries of an executable.

    Also shown are the instruction sets that it contains and the CPU generations that can run it.
    """
    if same_everywhere:
        print(common_variant(exe, split_targets(machines), this_toolchain()))
        return
    with status_line() as watch:
        report = inspect(exe, LocalHost(), this_toolchain(), watch)
    if as_json:
        print_json(_as_json(report))
    else:
        _print(report)
    for warning in report.inspection.warnings:
        say(warning)


def _as_json(report: Report) -> dict[str, Any]:
    inspection = report.inspection
    return {
        "path": inspection.path,
        "machine": inspection.machine,
        "variants": [
            vars(variant) | {"instruction_sets": sorted(variant.instruction_sets)}
            for variant in inspection.variants
        ],
        "baseline": inspection.baseline,
        "only": inspection.only,
        "chosen_here": report.chosen_here,
        "chosen_by_generation": report.by_generation,
        "instruction_sets": sorted(inspection.instruction_sets),
        "may_round_differently": report.may_round_differently,
        "warnings": list(inspection.warnings),
        "mpi": {
            "abi": report.abi,
            "soname": report.soname,
            "runs_under": [server.library.label for server in report.servers],
            "routes": [
                {
                    "mpi": route.library.label,
                    "how": route.how.value,
                    "lacks": list(route.lacks),
                    "why": route.why,
                }
                for route in report.routes
            ],
        },
    }


def _print(report: Report) -> None:
    inspection = report.inspection
    kind = " object" if inspection.is_object else ""
    print(f"{inspection.path}: {inspection.machine}{kind}, {'fat' if inspection.variants else 'one variant'}")
    for variant in inspection.variants:
        mark = "*" if variant.target == report.chosen_here else " "
        sets = ", ".join(sorted(variant.instruction_sets)) or "-"
        print(
            f" {mark} {variant.target:16} {variant.bytes / 1024:9.1f} KiB  "
            f"{variant.compiler}  {variant.flags}"
        )
        if not inspection.is_object:
            print(f"   {'':16} uses {sets}")
    if not inspection.variants:
        print("   instruction sets: " + (", ".join(sorted(inspection.instruction_sets)) or "-"))
    if report.by_generation:
        print(
            "   variant by CPU: "
            + ", ".join(f"{cpu} → {got or 'none'}" for cpu, got in report.by_generation.items())
        )
    if report.may_round_differently:
        print(
            "   results of variants may differ in the last digits (fused multiply-add or reordered sums); "
            "--no-fma prevents fused multiply-add"
        )
    if report.abi:
        runs = (
            ", ".join(f"{s.library.label} ({s.how.value})" for s in report.servers) or "no installed library"
        )
        print(f"   MPI: {report.abi} ABI, linked to {report.soname or 'a wrapper'}; runs under {runs}")
        if translated := [r.library.label for r in report.routes if r.how is How.TRANSLATED]:
            print(f"        translated under {', '.join(translated)}")
        for route in report.routes:
            if route.why:
                print(f"        {route.library.label} does not run it: {route.why}")
            if route.lacks:
                print(f"        {route.library.label} lacks {', '.join(route.lacks)}")
    else:
        print("   MPI: none")

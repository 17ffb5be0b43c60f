"""`mpiric build`: find the fastest compiler, flags and MPI for a program."""

import sys
from pathlib import Path

import click

from mpiric.cli._json import print_json
from mpiric.cli._options import cli_command, flag, json_option, option
from mpiric.host.facts.local import LocalHost
from mpiric.host.toolchain import this_toolchain
from mpiric.workflows.build.build import BuildAdvice, BuildRequest, try_all


@cli_command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@flag(
    "--try-compilers",
    "Build with every compiler that is installed, with several sets of flags (default, good, "
    "flexible, strict).",
    required=True,
)
@flag("--try-mpis", "Also build with every MPI library that has compiler wrappers.")
@flag(
    "--feedback",
    "Also build with profile-guided optimisation; the profile comes from --run with a first build.",
)
@option(
    "--run",
    "run",
    "CMD",
    "Command to run in the build tree; its output is compared and its time is measured.",
)
@option("--repeats", "N", "Number of timed runs of each build. The builds run in turn.", default=5)
@json_option
@click.argument("build", nargs=-1, required=True, type=click.UNPROCESSED)
def command(
    build: tuple[str, ...],
    run: str,
    repeats: int,
    *,
    try_compilers: bool,
    try_mpis: bool,
    feedback: bool,
    as_json: bool,
) -> None:
    """Build with each compiler, and compare results and run times.

    Each build happens in a copy of this directory.
    """
    del try_compilers  # required, so that the command line names what is done
    request = BuildRequest(build, run, repeats, try_mpis, Path.cwd(), feedback)
    advice = try_all(request, LocalHost(), this_toolchain(), lambda line: print(line, file=sys.stderr))
    if as_json:
        print_json(
            {
                "attempts": [
                    {
                        name: value
                        for name, value in vars(attempt).items()
                        if name not in ("tree", "environment")
                    }
                    for attempt in advice.attempts
                ],
                "best": advice.best.label if advice.best else "",
                "proof": advice.proof,
                "targets": list(advice.targets),
            }
        )
    else:
        _print(advice)


def _print(advice: BuildAdvice) -> None:
    print(f"{'compiler and flags':36} {'built':6} {'answer':8} {'speed':>7} {'vectorised':>11}")
    for attempt in advice.attempts:
        answer = {None: "-", True: "right", False: "differs"}[attempt.agrees]
        speed = f"{attempt.ratio:.3f}" if attempt.ratio else "-"
        built = "yes" if attempt.built else "no"
        print(f"{attempt.label:36} {built:6} {answer:8} {speed:>7} {attempt.vectorised:11}")
        if attempt.sentence:
            print(f"  {attempt.sentence}")
    if advice.proof:
        print(advice.proof)
    if advice.best:
        targets = ",".join(advice.targets)
        print(f"build with {advice.best.label}; for other CPUs, too: mpiric cc --targets {targets}")
        if advice.best.flag_set == "flexible":
            print("its flags reorder sums; the results agreed within rounding")

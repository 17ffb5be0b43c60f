"""`mpiric script`: write a job script for a scheduler."""

import re
from pathlib import Path
from typing import Any

import click
from cloup import option_group

from mpiric.cli._errors import say
from mpiric.cli._json import as_json, print_json
from mpiric.cli._options import (
    COUNT,
    allow_rounding_of_others,
    choice,
    cli_command,
    flag,
    launch_request_of,
    option,
    request_of,
)
from mpiric.host.facts.local import LocalHost
from mpiric.host.owned_files import write_whole
from mpiric.model.batch import NodeShape
from mpiric.model.errors import ExitCode, MpiricError, writing
from mpiric.schedulers import LayoutRequest, ScriptOptions, batch_schedulers
from mpiric.workflows.run.script import Script, ScriptRequest, script


@cli_command(context_settings={"allow_interspersed_args": False})
@option_group(
    "Size",
    option("--nodes", "-N", "N", "Number of nodes of the job.", type=COUNT),
    option("--ranks", "-n", "N", "Number of MPI ranks of the job.", type=COUNT),
    option("--ranks-per-node", "N", "Number of ranks per node. [default: as many as fit]", type=COUNT),
    option(
        "--threads", "-t", "N", "Number of threads of each rank.", type=COUNT, default=LayoutRequest.threads
    ),
    flag(
        "--bandwidth-bound",
        "Use every second core only, which is often enough to saturate the memory bandwidth. (`mpiric "
        "place --measure` shows how many cores are needed.)",
    ),
    option(
        "--gpus-per-node", "N", "Number of GPUs of each node; each rank is bound to one of them.", type=COUNT
    ),
    option(
        "--node",
        "shape",
        "SxC[xT]",
        "Shape of a node: sockets x cores per socket x hardware threads per core.",
    ),
)
@option_group(
    "Job",
    choice(
        list(batch_schedulers()),
        "--scheduler",
        "Scheduler of the script. [default: the installed scheduler, else slurm]",
    ),
    option("--partition", "-p", "NAME", "Partition or queue of the job."),
    option("--account", "-A", "NAME", "Account or project that is charged."),
    option("--time", "TIME", "Time limit in the scheduler's format; for Slurm: 30, 2:00:00, 1-12."),
    option("--job-name", "-J", "NAME", "Name of the job. [default: the program's name]"),
    option(
        "--directive",
        "directives",
        "OPTION",
        "Further option of the scheduler: --directive=--qos=normal.",
        multiple=True,
    ),
    option(
        "--setup", "LINE", "Line of shell code before the launch, such as 'module load x'.", multiple=True
    ),
    option("--shebang", "LINE", "First line of the script: '#!/bin/bash -l', or zsh, csh, fish, python."),
    option(
        "--mpi",
        "TYPE",
        "Process-manager interface (PMI) of srun and flux run: pmi2 (MPICH, Intel MPI) or pmix (Open "
        "MPI). [default: the interface of the program's MPI library]",
    ),
    option("--defaults", "FILE", "File with the defaults of the site. [default: $MPIRIC_SITE]"),
    option("--recipe", "FILE", "Include the settings of this recipe."),
    allow_rounding_of_others,
)
@option_group(
    "Output",
    option("--output", "-o", "FILE", "Write the script to this file."),
    flag("--no-check", "Do not let the scheduler check the script (sbatch --test-only)."),
    flag("--json", "json_wanted", "Print the result as one JSON object."),
)
@click.argument("command_line", nargs=-1, type=click.UNPROCESSED, metavar="-- CMD", required=True)
def command(command_line: tuple[str, ...], **options: Any) -> int:
    """Write a job script that runs CMD, with explanations.

    CMD is a program or your own launch line. The installed scheduler checks whether it would accept the
    script; the exit status is 84 if it would not.
    """
    written = script(
        launch_request_of(
            ScriptRequest,
            command_line,
            options,
            layout=request_of(LayoutRequest, options),
            shape=_shape(options["shape"]) if options["shape"] else None,
            options=request_of(ScriptOptions, options),
            check=not options["no_check"],
        ),
        LocalHost(),
    )
    if options["output"] is not None:
        path = options["output"]
        with writing(path, "name another file with -o"):
            write_whole(path, written.text.encode(), 0o777)
    if options["json_wanted"]:
        print_json(_as_json(written, options["output"]))
    elif options["output"] is None:
        print(written.text, end="")
    for sentence in written.sentences:
        say(sentence)
    checked = written.checked
    if checked is not None:
        verdict = "accepts the script" if checked.accepted else "rejects the script"
        say(f"{written.scheduler} {verdict}: {checked.message}")
    elif not options["no_check"]:
        say(f"the script was not checked: {written.scheduler} is not installed, or cannot check scripts")
    return int(ExitCode.REJECTED) if checked is not None and not checked.accepted else 0


def _shape(text: str) -> NodeShape:
    match = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)(?:x([1-9]\d*))?", text)
    if match is None:
        raise MpiricError(
            f"--node takes SOCKETSxCORES[xTHREADS], not {text!r}", hint="for example --node 2x64x2"
        )
    return NodeShape(int(match[1]), int(match[2]), int(match[3] or 1))


def _as_json(written: Script, path: Path | None) -> dict[str, Any]:
    return {
        "script": written.text,
        "path": str(path) if path else None,
        "lines": as_json(written.lines),
        "layout": {**as_json(written.layout), "kind": written.layout.kind},
        "node": {**as_json(written.shape), "cores": written.shape.cores},
        "launch": list(written.launch),
        "env": dict(written.environment),
        "check": None
        if written.checked is None
        else {"accepted": written.checked.accepted, "words": written.checked.message},
        "words": list(written.sentences),
    }

"""`mpiric pack`: write a program and its libraries to one file, for another site."""

from typing import Any

from mpiric.cli._errors import say
from mpiric.cli._json import print_json
from mpiric.cli._options import (
    allow_rounding_of_others,
    choice,
    cli_command,
    command_line,
    flag,
    json_option,
    launch_request_of,
    option,
    store_option,
)
from mpiric.host.facts.local import LocalHost
from mpiric.host.installation.images import SQUASHFS, TAR
from mpiric.model.amount import size
from mpiric.model.errors import MpiricError
from mpiric.workflows.pack.pack import Packed, PackRequest, pack


@cli_command(context_settings={"allow_interspersed_args": False})
@option("--output", "-o", "FILE", "File to write. [default: NAME.pack in this directory]")
@choice(
    [SQUASHFS, TAR],
    "--format",
    "image_format",
    "Format of the image: squashfs (nodes mount it) or tar (nodes unpack it). [default: squashfs if "
    "mksquashfs is installed]",
)
@option(
    "--with",
    "more",
    "FILE",
    "Include this file or directory, which the program opens while it runs: plug-ins, tables.",
    multiple=True,
)
@option("--glibc", "VERSION", "Refuse files that need a newer C library than this version.")
@option("--recipe", "FILE", "Recipe to include in the pack.")
@flag("--no-recipe", "Do not include a recipe.")
@allow_rounding_of_others
@store_option
@json_option
@command_line
def command(command_line: tuple[str, ...], **options: Any) -> int:
    """Pack CMD and its libraries into one file for another site.

    The other site starts the file with its own mpirun. It contains the program, its libraries and its
    recipe. The other site provides C library, drivers and MPI library.
    """
    request = launch_request_of(
        PackRequest,
        command_line,
        options,
        use_recipe=not options["no_recipe"],
        glibc=_release(options["glibc"]) if options["glibc"] else (),
    )
    say("gathering and compressing; the environment of a Python program may take a minute")
    packed = pack(request, LocalHost())
    for sentence in packed.sentences:
        say(sentence)
    if options["as_json"]:
        content = packed.pack
        print_json(
            {
                "file": packed.path,
                "contains": [
                    {"name": item.name, "kind": item.kind, "path": item.source or None}
                    for item in content.contents
                ],
                "left_out": content.left_out,
                "glibc_needed": ".".join(map(str, content.glibc_needed)) or None,
                "start": content.start.line,
            }
        )
    else:
        _print(packed)
    return 0


def _release(text: str) -> tuple[int, ...]:
    parts = text.split(".")
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        raise MpiricError(f"--glibc takes a version, not {text!r}", hint="for example --glibc 2.28")
    return tuple(map(int, parts))


def _print(packed: Packed) -> None:
    content = packed.pack
    counts: dict[str, int] = {}
    for item in content.contents:
        counts[item.kind.value] = counts.get(item.kind.value, 0) + 1
    summary = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    print(f"{packed.path}: {size(packed.path.stat().st_size)} ({summary})")
    if content.glibc_needed:
        need = next(need for need in content.needs if need.forbids)
        version = ".".join(map(str, content.glibc_needed))
        print(f"  needs glibc {version}: {need.symbol} of {need.name}")
    by_reason: dict[str, list[str]] = {}
    for omitted in content.left_out:
        by_reason.setdefault(omitted.why, []).append(omitted.path)
    for why, paths in by_reason.items():
        print(f"  not included, {why}:")
        for path in paths:
            print(f"    {path}")
    print(f"  start: {content.start.line}")

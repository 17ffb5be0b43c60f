"""The verbs: every other file of this folder, by click."""

import ast
from importlib import import_module
from pathlib import Path

import click

from mpiric import __version__
from mpiric.host.files import exists
from mpiric.model.errors import MpiricError

_NOT_VERBS = {"__init__", "main"}


class Verbs(click.Group):
    """Every other file of this folder is a verb and is imported only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Verbs by the names of their files; a file ``_x.py`` is none, ``word_.py`` is ``word``."""
        stems = (path.stem for path in Path(__file__).parent.glob("*.py"))
        return sorted(
            stem.rstrip("_") for stem in stems if stem not in _NOT_VERBS and not stem.startswith("_")
        )

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The ``command`` of the verb's file."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = import_module(f"mpiric.cli.{_file_of(cmd_name).stem}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each verb with the first sentence of its help, read and not imported: that takes seconds."""
        rows = [(verb, _first_sentence(_file_of(verb))) for verb in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _file_of(verb: str) -> Path:
    path = Path(__file__).parent / f"{verb}_.py"
    return path if exists(path) else path.with_name(f"{verb}.py")


def _first_sentence(path: Path) -> str:
    """The docstring of a verb's ``command``, the last text it is made with, or what its file says."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    text = (ast.get_docstring(tree) or "").partition(": ")[2]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "command":
            text = ast.get_docstring(node) or ""
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "command":
            words = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
            text = next((word for word in reversed(words) if isinstance(word, str)), "")
    text = " ".join(text.split("\n\n")[0].split())
    return text[:1].upper() + text[1:]


@click.group(
    cls=Verbs,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\b\nExamples:\n"
    "  mpiric tune -- mpirun -n 2 lmp -in in.lj    find, prove and save the fastest way to run it\n"
    "  mpiric run -- mpirun -n 2 lmp -in in.lj     run it with what was found\n"
    "  mpiric machine                              what this machine is, and its MPI libraries",
)
@click.option(
    "--version", "version", is_flag=True, help="Show the version and exit; --json tells of the native parts."
)
@click.option("--json", "as_json", is_flag=True, hidden=True)
@click.pass_context
def mpiric(context: click.Context, *, version: bool, as_json: bool) -> None:
    """MPI, empirically: makes an MPI program run at full speed on the machine it lands on, and proves it."""
    if version:
        _print_version(as_json=as_json)
        context.exit()
    if as_json:
        raise click.UsageError("--json stands after the verb, or beside --version")
    if context.invoked_subcommand is None:
        print(context.get_help())


def _print_version(*, as_json: bool) -> None:
    if not as_json:
        print(f"mpiric, version {__version__}")
        return
    from mpiric.cli._json import print_json
    from mpiric.host.facts.local import LocalHost
    from mpiric.host.installation.identity import installed_by, native_parts

    parts = native_parts(LocalHost())
    native = {
        "built_by": parts.built_by,
        "glibc_floor": ".".join(map(str, parts.glibc_floor)),
        "families": [family.value for family in parts.families],
        "portable": parts.portable,
    }
    print_json({"version": __version__, "native": native, "installed_by": installed_by()})


def run() -> int:
    """Run the verb on the command line and give its exit status; an error that click finds becomes ours."""
    try:
        status = mpiric(prog_name="mpiric", standalone_mode=False)
    except click.exceptions.Exit as error:
        status = error.exit_code
    except click.UsageError as error:
        verb = error.ctx.command_path if error.ctx else "mpiric"
        raise MpiricError(error.format_message().rstrip("."), hint=f"see '{verb} --help'") from None
    except click.Abort:
        raise KeyboardInterrupt from None
    return status if isinstance(status, int) else 0

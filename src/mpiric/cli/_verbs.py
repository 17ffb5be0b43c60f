"""The group of all commands: the compilers, and each file of this folder without a leading underscore."""

import ast
from importlib import import_module
from pathlib import Path

import click
import cloup

from mpiric import __version__
from mpiric.cli._compiling import COMPILERS, compiler_verb
from mpiric.host.files import exists
from mpiric.model.errors import MpiricError

_NOT_VERBS = {"__init__", "main"}
_GLOBAL = ("-v", "-vv", "--verbose", "--log-file")  # options of mpiric itself, given before the verb
# Sections of the help page and their verbs, in the order of a user's interest.
SECTIONS = {
    "Tune": ("tune", "run", "env", "history", "sweep", "scale"),
    "Understand": ("doctor", "profile", "report", "ps", "fabric", "nodes"),
    "Place": ("place", "map"),
    "Build once, run anywhere": ("cc", "cxx", "fc", "build", "inspect", "extract", "verify", "pack"),
    "Cluster": ("machine", "mpi", "script"),
    "Maintain": ("completion",),
}


class Verbs(cloup.Group):
    """Group of the commands in this folder, which are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the verbs: ``word`` for ``word.py`` and ``word_.py``, none for ``_word.py``."""
        stems = (path.stem for path in Path(__file__).parent.glob("*.py"))
        files = (stem.rstrip("_") for stem in stems if stem not in _NOT_VERBS and not stem.startswith("_"))
        return sorted((*files, *COMPILERS))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the file of a verb and return its ``command``."""
        if cmd_name not in self.list_commands(ctx):
            return None
        if cmd_name in COMPILERS:
            return compiler_verb(cmd_name)
        module = import_module(f"mpiric.cli.{_file_of(cmd_name).stem}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs by section, with the first sentence of each.

        The sentences are read from the files, since importing all verbs takes seconds.
        """
        verbs = self.list_commands(ctx)
        listed = {verb for section in SECTIONS.values() for verb in section}
        unlisted = tuple(verb for verb in verbs if verb not in listed)
        width = max(map(len, verbs))
        for title, section in {**SECTIONS, "Other": unlisted}.items():
            if section:
                rows = [(verb.ljust(width), _first_sentence(verb)) for verb in section]
                with formatter.section(title):
                    formatter.write_dl(rows)


def _file_of(verb: str) -> Path:
    path = Path(__file__).parent / f"{verb}_.py"
    return path if exists(path) else path.with_name(f"{verb}.py")


def _first_sentence(verb: str) -> str:
    """Return the first sentence of a verb's help, from the docstring of its ``command`` or of its file."""
    if verb in COMPILERS:
        return f"Compile {COMPILERS[verb]} with a variant for each CPU generation."
    tree = ast.parse(_file_of(verb).read_text(encoding="utf-8"))
    text = (ast.get_docstring(tree) or "").partition(": ")[2]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "command":
            text = ast.get_docstring(node) or ""
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "command":
            constants = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
            text = next((value for value in reversed(constants) if isinstance(value, str)), "")
    text = " ".join(text.split("\n\n")[0].split())
    return text[:1].upper() + text[1:]


@click.group(
    cls=Verbs,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\b\nExamples:\n"
    "  mpiric tune -- mpirun -n 2 lmp -in in.lj    find, prove and save the fastest settings\n"
    "  mpiric run -- mpirun -n 2 lmp -in in.lj     run the program with them\n"
    "  mpiric doctor -- mpirun -n 2 lmp -in in.lj  find out what makes a run slow",
)
@click.option(
    "--version",
    "version",
    is_flag=True,
    help="Show the version and exit. With --json, also show the native parts.",
)
@click.option(
    "--verbose",
    "-v",
    count=True,
    help="Log commands, decisions and files on stderr; -vv adds details. This option precedes the command.",
)
@click.option(
    "--log-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Append the detailed log to this file.",
)
@click.option("--json", "as_json", is_flag=True, hidden=True)
@click.pass_context
def mpiric(
    context: click.Context, *, version: bool, verbose: int, log_file: Path | None, as_json: bool
) -> None:
    """MPI, empirically: make an MPI program run at full speed on any machine, and prove it."""
    if version:
        _print_version(as_json=as_json)
        context.exit()
    if verbose or log_file is not None:
        from mpiric.cli._logging import configure

        configure(verbose, log_file)
    if as_json:
        raise click.UsageError("--json must follow the command or --version")
    if context.invoked_subcommand is None:
        print(context.get_help())


def _print_version(*, as_json: bool) -> None:
    if not as_json:
        print(f"mpiric, version {__version__}")
        return
    from mpiric.cli._json import print_json
    from mpiric.host.facts.local import LocalHost
    from mpiric.host.installation.native import installed_by, native_parts

    parts = native_parts(LocalHost())
    native = {
        "built_by": parts.built_by,
        "glibc_floor": ".".join(map(str, parts.glibc_floor)),
        "families": [family.value for family in parts.families],
        "portable": parts.portable,
    }
    print_json({"version": __version__, "native": native, "installed_by": installed_by()})


def run() -> int:
    """Run the verb on the command line and return its exit status.

    Raises MpiricError for errors of usage.
    """
    try:
        status = mpiric(prog_name="mpiric", standalone_mode=False)
    except click.exceptions.Exit as error:
        status = error.exit_code
    except click.UsageError as error:
        verb = error.ctx.command_path if error.ctx else "mpiric"
        hint = f"see '{verb} --help'"
        if isinstance(error, click.NoSuchOption) and error.option_name in _GLOBAL and " " in verb:
            hint = f"write it before the command: mpiric {error.option_name} {verb.removeprefix('mpiric ')}"
        raise MpiricError(error.format_message().rstrip("."), hint=hint) from None
    except click.Abort:
        raise KeyboardInterrupt from None
    return status if isinstance(status, int) else 0

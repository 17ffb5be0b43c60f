"""`mpiric completion`: print the script for tab completion in a shell."""

import click
from click.shell_completion import get_completion_class

_EPILOG = """\b
Install it once:
  bash   mpiric completion bash > ~/.local/share/bash-completion/completions/mpiric
  zsh    mpiric completion zsh > "${fpath[1]}/_mpiric"
  fish   mpiric completion fish > ~/.config/fish/completions/mpiric.fish
"""


@click.command(epilog=_EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> int:
    """Print the script for tab completion in a shell."""
    kind = get_completion_class(shell)
    assert kind is not None
    print(kind(ctx.find_root().command, {}, "mpiric", "_MPIRIC_COMPLETE").source())
    return 0

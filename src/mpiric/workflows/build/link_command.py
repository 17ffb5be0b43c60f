"""The link command that remains after the sources of a command line are compiled."""

from mpiric.build.command import Command, parse_compiler_command, stem


def object_path(directory: str, position: int, source: str) -> str:
    """Return the path of a source's object for the link."""
    return f"{directory}/{position:04d}-{stem(source)}.o"


def with_objects(command: Command, directory: str) -> Command:
    """Return the link command with objects instead of sources, without the ``-x`` option."""
    argv = list(command.arguments)
    for source in command.sources:
        argv[source.position] = object_path(directory, source.position, source.path)
    drop = {at for at, word in enumerate(argv) if word == "-x" and at not in command.values}
    drop |= {at + 1 for at in drop}
    drop |= {
        at for at, word in enumerate(argv) if word in ("-xc", "-xc++", "-xnone") and at not in command.values
    }
    return parse_compiler_command([word for at, word in enumerate(argv) if at not in drop])

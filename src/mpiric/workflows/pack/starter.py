"""Start of a pack: a bash script that starts the program in the image after it."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from mpiric.host.packaged import packaged_directory
from mpiric.model.pack import GlibcNeed, Pack, SettingsNeed
from mpiric.model.quoting import comment, sh_command, sh_word

MARK = ".mpiric/pack.json"  # its presence shows that the image is mounted
_BLOCK = 4096  # the image starts at a multiple of it
_DIGITS = 10  # fixed width of the offset, so that the script's length does not depend on it
_SCRIPT = "starter.bash"


def render_starter(pack: Pack, image_format: str, digest: str, unpacked_bytes: int) -> bytes:
    """Return the script, padded to a multiple of 4096 bytes; ``digest`` names the mount directory."""
    start = pack.start
    facts = (
        comment(f"{pack.name}, packed by mpiric. It starts as the program did: {start.line}"),
        _scalar("name", pack.name),
        _scalar("digest", digest),
        _scalar("format", image_format),
        _scalar("processor", pack.processor),
        _scalar("unpacked_kib", str(unpacked_bytes >> 10)),
        _scalar("mark", MARK),
        _scalar("python_program", start.python_program),
        _scalar("python_home", start.python_home),
        _scalar("python_environment", start.python_environment),
        _array("command", start.command),
        _array("settings", (f"{name}={value}" for name, value in start.settings)),
        _array("needs", map(_need, start.needs)),
        _array("forced", (f"{name}={value}" for name, value in start.forced)),
        _array("preload", start.preload),
        _array("mpi_names", start.mpi_names),
        _array("required", _highest(pack.needs, required=True)),
        _array("optional", _highest(pack.needs, required=False)),
        _table("runtimes", start.runtimes),
        _table("of_compilers", ((soname, " ".join(versions)) for soname, versions in pack.of_compilers)),
    )
    script = Path(packaged_directory("workflows/pack"), _SCRIPT).read_text(encoding="utf-8")
    before = "\n".join(("#!/bin/bash", *facts, ""))
    length = len(before.encode()) + len(f"offset=$((10#{0:0{_DIGITS}d}))\n") + len(script.encode())
    filled = -(-length // _BLOCK) * _BLOCK
    text = f"{before}offset=$((10#{filled:0{_DIGITS}d}))\n{script}"
    return text.encode() + b"\n" * (filled - length)


def _need(need: SettingsNeed) -> str:
    """Return variables, their need and its patterns, separated by tabs."""
    return "\t".join((" ".join(need.variables), need.what, " ".join(need.paths)))


def _highest(needs: Iterable[GlibcNeed], *, required: bool) -> Iterator[str]:
    """Yield a line for each file, with its highest required version; the needs are sorted."""
    versions = set[str]()
    for need in needs:
        if need.required is required and need.name not in versions:
            versions.add(need.name)
            version = ".".join(map(str, need.version))
            yield f"{version} {need.name} {need.symbol.replace(' ', '-')} {need.stand_in}".rstrip()


def _scalar(name: str, value: str) -> str:
    return f"{name}={sh_word(value)}"


def _table(name: str, rows: Iterable[tuple[str, str]]) -> str:
    return f"declare -A {name}=({' '.join(f'[{sh_word(key)}]={sh_word(value)}' for key, value in rows)})"


def _array(name: str, values: Iterable[str]) -> str:
    return f"{name}=({sh_command(values)})"

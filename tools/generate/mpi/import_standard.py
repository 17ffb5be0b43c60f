"""Rewrites spec/mpi/functions.toml from the machine-readable form of the MPI standard.

For maintainers, when a new version of the standard is out: ``pip install pympistandard`` into a scratch
environment and run this with it. Only facts are taken: names, C types, parameter kinds and directions.
``since`` is the oldest of the given headers that declares the function: name them oldest first as
VERSION=HEADER.
"""

import argparse
import json
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

FUNCTIONS = Path(__file__).parents[3] / "spec/mpi/functions.toml"
DECLARED = re.compile(r"\bPMPI_(\w+)\s*\(")
PARAMETER = re.compile(r"^(?P<type>.*?[\s*])?(?P<name>\w+)(?P<array>(\[\d*\])*)$")


def declared(header: str) -> set[str]:
    """Functions that a header declares, asked of the preprocessor."""
    text = subprocess.run(
        ["cc", "-E", "-xc", f"-I{Path(header).parent}", header], check=True, capture_output=True, text=True
    ).stdout
    return {f"MPI_{name}" for name in DECLARED.findall(text)}


def c_parameters(prototype: str) -> list[str]:
    """The C declarations of the parameters in a rendered prototype."""
    inside = prototype[prototype.index("(") + 1 : prototype.rindex(")")].replace("\\ldots", "...")
    return (
        [] if inside.strip() == "void" else [" ".join(parameter.split()) for parameter in inside.split(",")]
    )


def line(prototype: str, kinds: dict[str, str], since: str) -> str:
    """Return a function as a line: version, result, then `declaration: KIND direction` per parameter."""
    result, name = prototype[: prototype.index("(")].rsplit(" ", 1)
    fields = [since, result.strip()]
    for declaration in c_parameters(prototype):
        match = PARAMETER.match(declaration)
        fields.append(f"{declaration}: {kinds.get(match['name'], 'VARARGS in') if match else 'VARARGS in'}")
    return f"{name} = [{', '.join(chr(34) + field + chr(34) for field in fields)}]"


def render(headers: dict[str, str]) -> str:
    """The whole file."""
    import pympistandard as standard  # type: ignore[import-not-found,unused-ignore]

    standard.use_api_version(1)
    declared_functions = {version: declared(header) for version, header in headers.items()}
    lines = []
    data = json.loads((files("pympistandard") / "data" / "apis.json").read_text(encoding="utf-8"))
    for key, entry in data.items():
        procedure = standard.PROCEDURES.get(key)
        if procedure is None or not entry["attributes"]["c_expressible"]:
            continue
        kinds = {p["name"]: f"{p['kind']} {p['param_direction']}" for p in entry["parameters"]}
        forms = [
            procedure.express.iso_c,
            procedure.express.embiggen.iso_c if procedure.has_embiggenment() else None,
        ]
        for form in (str(form) for form in forms if form):
            name = form[: form.index("(")].rsplit(" ", 1)[1]
            since = next((version for version, names in declared_functions.items() if name in names), "")
            if since:
                lines.append(line(form, kinds, since))
    return "\n".join(
        [
            "# Functions of the MPI standard: version that has it (3.1: up to it), result, parameters.",
            "# A parameter is its C declaration, its kind and its direction.",
            "# Written by tools/generate/mpi/import_standard.py.",
            "",
            *sorted(lines),
            "",
        ]
    )


def main() -> int:
    """Ask the headers, write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("headers", nargs="+", metavar="VERSION=HEADER")
    arguments = parser.parse_args()
    FUNCTIONS.write_text(render(dict(header.split("=", 1) for header in arguments.headers)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

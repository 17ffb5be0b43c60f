"""Render the struct of the runtime's options from spec/options.toml."""

import json
import sys

from tools.generate._target import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SOURCE = ROOT / "spec/options.toml"
_TYPES = {
    "flag": "bool",
    "integer": "uint32_t",
    "number": "double",
    "path": "const char*",
    "text": "const char*",
}


def render() -> str:
    """Return the X-macros MPIRIC_CHOICE(type, values) and MPIRIC_OPTION(type, field, default, variable…)."""
    choices, options = [], []
    for name, option in tomllib.loads(SOURCE.read_text(encoding="utf-8")).items():
        names = option.get("choices", [])
        if names:
            cpp_type = "".join(part.capitalize() for part in name.split("_"))
            default = f"{cpp_type}::{option['default']}"
            choices.append(f"MPIRIC_CHOICE({cpp_type}, {', '.join(names)})")
        else:
            cpp_type = _TYPES[option["type"]]
            default = {"bool": "false" if option["default"] == "0" else "true"}.get(
                cpp_type, json.dumps(option["default"]) if "char" in cpp_type else option["default"]
            )
        values = ", ".join(json.dumps(value) for value in [option["environment"], *names])
        options.append(f"/// {option['says']}\nMPIRIC_OPTION({cpp_type}, {name}, {default}, {values})")
    return "\n".join([*choices, *options]) + "\n"

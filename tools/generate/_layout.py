"""A file's layout as spec/formats has it in TOML: its C++ structs, Python's formats, tables of Markdown."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_FIELD = re.compile(r"(\w+)(?:\[(\w+)\])? (\w+)(?:: (.*))?")
_NUMBERS = {"u32": ("uint32_t", "I", 4), "u64": ("uint64_t", "Q", 8), "i32": ("int32_t", "i", 4)}


@dataclass(frozen=True)
class Field:
    """Field of a struct: type, count (a number or a constant), meaning."""

    type: str
    many: str
    name: str
    meaning: str


class Spec:
    """The layout as the file has it."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.raw: dict[str, Any] = tomllib.loads(source.read_text(encoding="utf-8"))
        self.structs = {struct["name"]: struct for struct in self.raw["structs"]}
        self.constants = {name: value for name, (value, _) in self.raw["constants"].items()}
        self.magics = {name: text for name, text in self.raw.items() if name.endswith("_magic")}

    def fields(self, struct: str) -> Iterator[Field]:
        """Fields of a struct in order."""
        for text in self.structs[struct]["fields"]:
            match = _FIELD.fullmatch(text)
            if not match:
                raise SystemExit(f"{self.source}: not a field: {text}")
            yield Field(match[1], match[2] or "", match[3], match[4] or "")

    def count(self, field: Field) -> int:
        """Number of elements of the field."""
        if field.many == "section_count":
            return len(self.raw["sections"])
        return int(self.constants.get(field.many, field.many or 1))

    def size(self, struct: str) -> int:
        """Bytes of a struct."""
        return sum(
            self.count(field)
            * (_NUMBERS[field.type][2] if field.type in _NUMBERS else self.size_of(field.type))
            for field in self.fields(struct)
        )

    def size_of(self, name: str) -> int:
        """Size in bytes of a type that is not a number: a struct or a character."""
        return self.size(name) if name in self.structs else 1

    def codes(self, struct: str, version: int) -> str:
        """Format characters of Python's ``struct`` for the fields of a version; without sections."""
        since = self.structs[struct].get("since", {})
        parts = []
        for field in self.fields(struct):
            if since.get(field.name, 1) > version or field.type == "SectionEntry":
                continue
            if field.type in self.structs:
                parts.append(self.codes(field.type, version) * self.count(field))
            elif field.type in _NUMBERS:
                parts.append(_NUMBERS[field.type][1] * self.count(field))
            else:
                parts.append(f"{self.count(field)}s")
        return "".join(parts)

    def native_constants(self) -> list[str]:
        """Lines of C++: version, magics, constants."""
        lines = [f"inline constexpr uint32_t format_version = {self.raw['version']};"]
        for name, magic in self.magics.items():
            characters = ", ".join(repr(character) for character in magic)
            lines.append(f"inline constexpr char {name}[8] = {{{characters}}};")
        lines += [
            f"inline constexpr uint32_t {name} = {value};{remark(meaning)}"
            for name, (value, meaning) in self.raw["constants"].items()
        ]
        return lines

    def native_types(self) -> list[str]:
        """Lines of C++: enumerations and structs."""
        lines = []
        for name, values in self.raw["enums"].items():
            lines.append(f"\nenum class {name} : uint32_t {{")
            lines += [f"    {key} = {value},{remark(meaning)}" for key, (value, meaning) in values.items()]
            lines.append("};")
        for name, struct in self.structs.items():
            lines.append(f"\n/// {struct['is']}.\nstruct {name} {{")
            for field in self.fields(name):
                kind = _NUMBERS[field.type][0] if field.type in _NUMBERS else field.type
                kind = {"text": "char", "bytes": "char"}.get(kind, kind)
                array = f"[{field.many}]" if field.many else ""
                lines.append(f"    {kind} {field.name}{array};{remark(field.meaning)}")
            lines.append(f"}};\nstatic_assert(sizeof({name}) == {self.size(name)});")
        return lines

    def python_constants(self) -> list[str]:
        """Lines of Python: magics and constants."""
        lines = [
            f"{name.upper()} = {magic.encode()!r}".replace("'", '"') for name, magic in self.magics.items()
        ]
        return [*lines, *(f"{name.upper()} = {value}" for name, value in self.constants.items())]

    def table(self, name: str) -> str:
        """A struct as a table of Markdown."""
        rows = [
            f"**{name}**: {self.structs[name]['is']}, {self.size(name)} bytes.\n",
            "| type | field | |",
            "|---|---|---|",
        ]
        for field in self.fields(name):
            is_text = field.type in ("text", "bytes")
            count = f" × {self.count(field)}" if field.many and not is_text else ""
            kind = f"{self.count(field)} bytes" if is_text else f"{field.type}{count}"
            rows.append(f"| {kind} | {field.name} | {self._meaning(field)} |")
        return "\n".join(rows)

    def _meaning(self, field: Field) -> str:
        if field.meaning in self.raw["enums"]:
            values = self.raw["enums"][field.meaning].items()
            return "; ".join(f"{value} {key}: {text}" for key, (value, text) in values)
        if field.meaning in self.magics:
            return f"`{self.magics[field.meaning].strip()}\\n`"
        return field.meaning

    def with_tables(self, document: Path) -> str:
        """A page with its tables made anew between their marks."""
        return re.sub(
            rf"(<!-- (\w+), from {self.source.name} -->\n).*?(\n<!-- end -->)",
            lambda match: f"{match[1]}{self.table(match[2])}{match[3]}",
            document.read_text(encoding="utf-8"),
            flags=re.DOTALL,
        )


def packed(codes: str) -> str:
    """Format characters as a literal, equal ones that follow one another counted: ``QQQ`` → ``3Q``."""
    counted = re.sub(r"([QIi])\1+", lambda match: f"{len(match[0])}{match[1]}", codes)
    return f'Struct("<{counted}")'


def constant_case(name: str) -> str:
    """``MergedHead`` → ``MERGED_HEAD``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()


def remark(text: str) -> str:
    """A comment behind a declaration."""
    return f"  ///< {text}" if text else ""

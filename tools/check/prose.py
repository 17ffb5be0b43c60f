"""Check the English of comments, docstrings, messages, help texts, documentation and names.

    python tools/check/prose.py                      check the counts against the ceilings
    python tools/check/prose.py --show CATEGORY [N]  list the first N places of a category (40 by default)
    python tools/check/prose.py --lower              lower the ceilings to today's counts

Each category is a pattern of unidiomatic English; docs/contributing/style.md explains them. The counts are an
indicator: a text can pass every pattern and still be hard to read. Ceilings can only be lowered.
"""

import argparse
import ast
import io
import json
import re
import subprocess
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CEILINGS = Path(__file__).with_name("prose_ceilings.json")

PHRASES = {
    "negated noun": re.compile(r"\b(?:is|are|was|were) no (?!longer\b|more\b|matter\b|need\b)[a-z]+", re.I),
    "relative clause as a noun": re.compile(
        r"(?:^|[.:;,(] ?|\b(?:of|by|from|with|for|than|to|and) )what [a-z]+"
        r"|\bthose (?:of|that|who)\b|\bthat of\b|\bone (?:of which|that|whose)\b",
        re.I,
    ),
    "theatrical verb": re.compile(
        r"\b(?:lies?|lay|stands? (?:there|behind|before|for|in|once|beside|apart|above|below)|beside"
        r"|(?:is|are) (?:told|heard|said)|tells? of|hears? of|know(?:s)? of|speaks? of"
        r"|is there|is here|is to be had|for want of|so many|in place of|the likes)\b",
        re.I,
    ),
}
DOCSTRING_OPENING = re.compile(
    r"(?:What|Whether|One|Of|That of|Those|The same|The other way|How|Where|Who|As|In|By|With|For|To"
    r"|Its|Their|No more|None)\b"
)
TRAILING_OPENING = re.compile(
    r"(?:of|that|those|what|which|whose|who|in|as|by|with|for|to|on|at|from|where|while|until|is|are"
    r"|has)\b",
    re.I,
)
VAGUE_NAMES = frozenset(
    "found words own known whole left made given told wanted each wishes asked heard said begun taken"
    " there here others rest gone kept seen meant ours theirs most least far".split()
)
CATEGORIES = (*PHRASES, "docstring opening", "trailing comment opening", "help text fragment", "vague name")

# A piece of text: kind ("comment", "trailing", "docstring", "text", "help", "name", "doc"), line, content.
Piece = tuple[str, int, str]


def pieces_of_python(source: str) -> Iterator[Piece]:
    """Yield comments, docstrings, string literals, help texts and assigned names of a Python file."""
    tree = ast.parse(source)
    docstrings = set()
    for node in ast.walk(tree):
        if isinstance(
            node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        ) and ast.get_docstring(node):
            docstrings.add(node.body[0].value)  # type: ignore[attr-defined]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield "name", node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield "name", node.lineno, node.arg
        elif isinstance(node, ast.keyword) and node.arg == "help" and isinstance(node.value, ast.Constant):
            yield "help", node.value.lineno, str(node.value.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node in docstrings:
                yield "docstring", node.lineno, node.value
            elif " " in node.value.strip():
                yield "text", node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            kind = "trailing" if token.line[: token.start[1]].strip() else "comment"
            yield kind, token.start[0], token.string.lstrip("#! ")


def pieces_of_c(source: str) -> Iterator[Piece]:
    """Yield comments and string literals of a C, C++ or TOML file."""
    for number, line in enumerate(source.split("\n"), 1):
        comment = re.search(r"//+[/!<]*\s*(.*)$", line)
        if comment and not re.search(r'"[^"]*//[^"]*"', line):
            yield "trailing" if line[: comment.start()].strip() else "comment", number, comment.group(1)
        for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
            if " " in literal.strip():
                yield "text", number, literal


def pieces_of_markdown(source: str) -> Iterator[Piece]:
    """Yield the lines of a page."""
    for number, line in enumerate(source.split("\n"), 1):
        yield "doc", number, line


READERS = {".py": pieces_of_python, ".md": pieces_of_markdown}
READERS |= dict.fromkeys((".cpp", ".hpp", ".c", ".h", ".inc", ".toml"), pieces_of_c)


def hits_of(kind: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield (category, excerpt) of each pattern that a piece of text matches."""
    if kind == "name":
        if text.strip("_") in VAGUE_NAMES:
            yield "vague name", text
        return
    if kind == "trailing" and TRAILING_OPENING.match(text):
        yield "trailing comment opening", text
    if kind == "docstring" and DOCSTRING_OPENING.match(text.strip()):
        yield "docstring opening", text
    if kind == "help" and (len(text.split()) < 4 or DOCSTRING_OPENING.match(text)):
        yield "help text fragment", text
    for category, pattern in PHRASES.items():
        for match in pattern.finditer(text):
            yield category, text[max(0, match.start() - 50) : match.end() + 50]


def search_repository() -> tuple[dict[str, list[str]], int]:
    """Return the places of each category as "file:line: excerpt", and the number of lines searched."""
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True
    ).stdout
    places: dict[str, list[str]] = defaultdict(list)
    lines = 0
    for name in listed.split("\n"):
        path = ROOT / name
        reader = READERS.get(path.suffix)
        is_data = "generated" in name or "/data/" in name or "results/" in name
        # The patterns and their explanation are not counted.
        is_rule = path == Path(__file__).resolve() or name == "docs/contributing/style.md"
        if reader is None or is_data or is_rule or path.is_symlink() or not path.is_file():
            continue
        source = path.read_text(encoding="utf-8", errors="replace")
        lines += source.count("\n")
        for kind, line, text in reader(source):
            for category, excerpt in hits_of(kind, text):
                places[category].append(f"{name}:{line}: {' '.join(excerpt.split())[:140]}")
    return places, lines


def main() -> int:
    """Check, list or lower, as the command line says; return 1 if a count is above its ceiling."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--show", nargs="+", metavar=("CATEGORY", "N"), help="list the places of a category")
    parser.add_argument("--lower", action="store_true", help="lower the ceilings to today's counts")
    arguments = parser.parse_args()
    places, lines = search_repository()
    if arguments.show:
        category, *limit = arguments.show
        if category not in CATEGORIES:
            parser.error(f"unknown category {category!r}; known are: {', '.join(CATEGORIES)}")
        print(*places[category][: int(limit[0]) if limit else 40], sep="\n")
        return 0
    ceilings = json.loads(CEILINGS.read_text(encoding="utf-8"))
    if arguments.lower:
        ceilings = {category: min(ceilings[category], len(places[category])) for category in CATEGORIES}
        CEILINGS.write_text(json.dumps(ceilings, indent=4) + "\n", encoding="utf-8")
    exceeded = [category for category in CATEGORIES if len(places[category]) > ceilings[category]]
    for category in (*CATEGORIES, "all"):
        count = sum(map(len, places.values())) if category == "all" else len(places[category])
        limit = sum(ceilings.values()) if category == "all" else ceilings[category]
        print(f"{count:6d} (ceiling {limit})  {1000 * count / lines:6.2f} per 1,000 lines  {category}")
    for category in exceeded:
        print(f"{category}: above the ceiling; to list them: python tools/check/prose.py --show '{category}'")
        print(*places[category][-10:], sep="\n")
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())

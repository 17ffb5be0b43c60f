"""Check that a change of prose or names left the program as it was.

    python -m tools.check.same_meaning main prose                      compare two revisions
    python -m tools.check.same_meaning main prose --locals             local variables may be renamed
    python -m tools.check.same_meaning main prose --strings            messages may be reworded
    python -m tools.check.same_meaning main prose --name found=record  this name may be replaced (repeatable)
    python -m tools.check.same_meaning main prose src/mapper           compare these paths only

Python files are compared as syntax trees without docstrings, C and C++ files as tokens without comments.
With `--locals`, a variable or parameter is identified by its scope and by the order of the bindings in it,
so a new name that shadows another one is reported. Names of keyword arguments at calls still need `--name`.
With `--strings`, the reworded strings are printed. Files of other kinds are not compared. The exit code is 1
if a file differs, was added or was removed.
"""

import argparse
import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

C_SUFFIXES = frozenset((".c", ".cpp", ".h", ".hpp", ".inc"))
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
NAMED_BINDINGS = (*DEFINITIONS, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, *COMPREHENSIONS)
C_TOKEN = re.compile(
    r'(?P<comment>//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/)|(?P<string>(?:u8|[LuU])?R"(?P<fence>[^(\s]*)\(.*?\)(?P=fence)"'
    r'|(?:u8|[LuU])?"(?:[^"\\\n]|\\.)*")|(?P<name>[A-Za-z_]\w*)'
    r"|(?P<other>'(?:[^'\\\n]|\\.)+'|\.?\d(?:[eEpP][+-]|[\w.]|'(?=\w))*|\S)"
    r"|(?P<directive>^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)",
    re.S | re.M,
)


@dataclass(frozen=True)
class Rules:
    """Differences between two revisions that are allowed."""

    renamed: frozenset[tuple[str, str]] = frozenset()  # (old, new) of names outside functions
    ignore_locals: bool = False
    ignore_strings: bool = False


@dataclass
class Program:
    """Content of a source file that determines what it does."""

    tokens: list[tuple[str, str]] = field(default_factory=list)  # (kind, value), kind "name" or "other"
    strings: Counter[str] = field(default_factory=Counter)


def nodes_of_scope(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function or comprehension that belong to no scope inside it."""
    roots = (
        [generator.target for generator in scope.generators]
        if isinstance(scope, COMPREHENSIONS)
        else list(ast.iter_child_nodes(scope))
    )
    while roots:
        node = roots.pop(0)
        yield node
        if isinstance(node, COMPREHENSIONS):
            # `:=` in a comprehension binds in the enclosing function.
            yield from (inner.target for inner in ast.walk(node) if isinstance(inner, ast.NamedExpr))
        elif not isinstance(node, (*SCOPES, ast.ClassDef)):
            roots[:0] = ast.iter_child_nodes(node)


def bound_names(scope: ast.AST) -> list[str]:
    """Return the parameters and variables of a function or comprehension in the order of their bindings."""
    names: dict[str | None, None] = {}
    outer: set[str] = set()
    for node in nodes_of_scope(scope):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            outer.update(node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            names.setdefault(node.id)
        elif isinstance(node, ast.arg):
            names.setdefault(node.arg)
        elif isinstance(node, NAMED_BINDINGS):
            names.setdefault(node.name)
    return [name for name in names if name and name not in outer]


class PythonFlattener:
    """Turn a syntax tree into a sequence of tokens, without docstrings."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.program = Program()
        self.scopes: list[list[str]] = []

    def name(self, value: str) -> None:
        """Append a name, or the scope and position of its binding."""
        for depth in range(len(self.scopes) - 1, -1, -1):
            if value in self.scopes[depth]:
                position = f"local {depth}.{self.scopes[depth].index(value)}"
                self.program.tokens.append(("other", position))
                return
        self.program.tokens.append(("name", value))

    def visit(self, node: object) -> None:
        """Append the tokens of a node of the tree."""
        if isinstance(node, list):
            self.program.tokens.append(("other", f"list of {len(node)}"))
            for item in node:
                self.visit(item)
        elif not isinstance(node, ast.AST):
            self.program.tokens.append(("other", repr(node)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and self.rules.ignore_strings:
            self.program.strings[node.value] += 1
            self.program.tokens.append(("other", "string"))
        elif isinstance(node, ast.JoinedStr) and self.rules.ignore_strings:
            self.visit_message(node)
        else:
            self.visit_fields(node)

    def visit_message(self, node: ast.JoinedStr) -> None:
        """Append the expressions of an f-string, in any order."""
        before, self.program.tokens = self.program.tokens, []
        expressions = []
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                self.visit(value)
                expressions.append(self.program.tokens)
                self.program.tokens = []
        self.program.strings[ast.unparse(node)] += 1
        ordered = [token for tokens in sorted(expressions) for token in tokens]
        self.program.tokens = [*before, ("other", "string"), *ordered]

    def visit_fields(self, node: ast.AST) -> None:
        """Append the type and the fields of a node; open a scope where it is a function."""
        self.program.tokens.append(("other", type(node).__name__))
        fields = dict(ast.iter_fields(node))
        if isinstance(node, (ast.Module, *DEFINITIONS)) and ast.get_docstring(node):
            fields["body"] = node.body[1:]
        is_scope = isinstance(node, SCOPES) and self.rules.ignore_locals
        # Decorators, default values and annotations belong to the enclosing scope; so do class bodies, whose
        # names are attributes.
        for key in ("decorator_list", "returns"):
            if is_scope and key in fields:
                self.visit(fields.pop(key))
        if is_scope and isinstance(fields.get("args"), ast.arguments):
            arguments = fields["args"]
            self.visit([*arguments.defaults, *arguments.kw_defaults])
            every = [*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs]
            self.visit([parameter and parameter.annotation for parameter in [*every, arguments.kwarg]])
        if is_scope:
            if "name" in fields:
                self.name(fields.pop("name"))
            self.scopes.append(bound_names(node))
        is_name = isinstance(node, (ast.Name, ast.arg, ast.ExceptHandler, ast.MatchAs, ast.MatchStar))
        for key, value in fields.items():
            if isinstance(value, str) and key in ("id", "arg", "name", "attr", "module", "asname"):
                binds = is_name or (key == "name" and not isinstance(node, ast.alias))
                if binds and self.rules.ignore_locals:
                    self.name(value)
                else:
                    self.program.tokens.append(("name", value))
            elif key not in ("ctx", "type_comment"):
                self.visit(value)
        if is_scope:
            self.scopes.pop()


def python_program(source: str, rules: Rules) -> Program:
    """Return the tokens of a Python file."""
    flattener = PythonFlattener(rules)
    flattener.visit(ast.parse(source))
    return flattener.program


def c_tokens(source: str) -> Iterator[tuple[str, str]]:
    """Yield (kind, text) of each token of a C or C++ file; comments are left out."""
    for match in C_TOKEN.finditer(source):
        kind = match.lastgroup or "other"
        if kind == "fence":
            kind = "string"
        if kind != "comment":
            yield kind, match.group()


def c_program(source: str, rules: Rules) -> Program:
    """Return the tokens of a C or C++ file; neighbouring string literals are one token."""
    program = Program()
    previous = ""
    for kind, text in c_tokens(source):
        if kind == "string" and rules.ignore_strings:
            program.strings[text] += 1
            if previous != "string":
                program.tokens.append(("other", "string"))
        elif kind == "string" and previous == "string" and program.tokens[-1][1].endswith('"'):
            program.tokens[-1] = ("other", program.tokens[-1][1][:-1] + text[text.index('"') + 1 :])
        else:
            program.tokens.append(("name" if kind == "name" else "other", text))
        previous = kind
    return program


def first_difference(old: Program, new: Program, rules: Rules) -> str:
    """Describe the first token that differs and was not allowed to change; "" if the programs are equal."""
    for before, after in zip_longest(old.tokens, new.tokens, fillvalue=("other", "end of file")):
        is_rename = before[0] == after[0] == "name" and (before[1], after[1]) in rules.renamed
        if before != after and not is_rename:
            return f"{before[1]} became {after[1]}"
    return ""


def compare(name: str, old: str, new: str, rules: Rules) -> tuple[str, list[str]]:
    """Return the first difference between two versions of a file, "" if none, and the reworded strings."""
    suffix = Path(name).suffix
    if suffix != ".py" and suffix not in C_SUFFIXES:
        return "", []
    read = python_program if suffix == ".py" else c_program
    before, after = read(old, rules), read(new, rules)
    removed = [f"{name}: - {text!r}" for text in before.strings - after.strings]
    added = [f"{name}: + {text!r}" for text in after.strings - before.strings]
    return first_difference(before, after, rules), [*removed, *added]


def git(*arguments: str) -> str:
    """Return the output of a git command in the current directory."""
    return subprocess.run(("git", *arguments), capture_output=True, text=True, check=True).stdout


def main(argv: list[str] | None = None) -> int:
    """Compare the files that differ between two revisions; return 1 if the meaning of one changed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", help="the revision before the change")
    parser.add_argument("new", help="the revision after the change")
    parser.add_argument("paths", nargs="*", help="files or directories to compare (default: all)")
    parser.add_argument("--locals", action="store_true", help="allow that local variables are renamed")
    parser.add_argument("--strings", action="store_true", help="allow that strings are reworded; list them")
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="OLD=NEW",
        help="allow that one name replaces another one",
    )
    arguments = parser.parse_intermixed_args(argv)
    pairs = [tuple(pair.partition("=")[::2]) for pair in arguments.name]
    if not all(old and new for old, new in pairs):
        parser.error("--name takes OLD=NEW, for example --name found=record")
    rules = Rules(frozenset(pairs), arguments.locals, arguments.strings)
    listed = git(
        "diff",
        "--relative",
        "--name-status",
        "--no-renames",
        "-z",
        arguments.old,
        arguments.new,
        "--",
        *arguments.paths,
    )
    fields = listed.split("\0")
    code = 0
    for status, name in zip(fields[0::2], fields[1::2], strict=False):
        if status != "M":
            print(f"{name}: {'added' if status == 'A' else 'removed'}")
            code = 1
            continue
        difference, strings = compare(
            name, git("show", f"{arguments.old}:./{name}"), git("show", f"{arguments.new}:./{name}"), rules
        )
        print(*strings, sep="\n", end="\n" if strings else "")
        if difference:
            print(f"{name}: the meaning differs: {difference}")
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())

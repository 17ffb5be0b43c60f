"""Rules for the whole repository."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CEILING = 400  # lines of a hand-written file
ROOMS = sorted(path.parent.name for path in (ROOT / "src/mpiric").glob("*/__init__.py"))


def tracked(*suffixes: str) -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [ROOT / name for name in done.stdout.split("\0") if name.endswith(suffixes)]
    return [path for path in paths if path.is_file() and "generated" not in path.parts]


def test_no_hand_written_source_is_longer_than_the_ceiling():
    long = {
        str(path.relative_to(ROOT)): count
        for path in tracked(".py", ".cpp", ".hpp", ".c", ".h")
        if (count := path.read_text().count("\n")) > CEILING
    }
    assert long == {}


@pytest.mark.parametrize(
    "room",
    [
        *("lab", "plans", "tuning", "statistics", "outputs"),
        *(f"workflows/{verb}" for verb in ("trials", "tune", "run", "history", "sweep", "profile")),
    ],
)
def test_a_function_on_the_way_of_a_run_has_at_most_six_parameters(room):
    long = []
    for path in sorted((ROOT / "src/mpiric" / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                parameters = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
                if sum(parameter.arg not in ("self", "cls") for parameter in parameters) > 6:
                    long.append(f"{path.relative_to(ROOT)}: {node.name}")
    assert long == []


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_has_a_description(room):
    assert (ROOT / "src/mpiric" / room / "__init__.py").read_text().startswith('"""')


def test_make_alone_lists_every_target():
    makefile = (ROOT / "Makefile").read_text()
    declared = set(re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[1].split())
    listed = subprocess.run(["make", "-s"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"^  make (\S+)", listed, re.MULTILINE)) == declared


def test_the_list_of_debian_packages_is_in_order_and_names_each_once():
    lines = (ROOT / "packaging/apt-test.txt").read_text().splitlines()
    packages = [line for line in lines if not line.startswith("#")]
    assert packages == sorted(set(packages))


def test_scripts_are_executable():
    scripts = [path for path in tracked("") if path.read_bytes()[:2] == b"#!"]
    assert [str(path) for path in scripts if not path.stat().st_mode & 0o100] == []


def test_no_build_product_is_tracked():
    assert tracked(".o", ".so", ".whl", ".pyc", ".a") == []


def test_helpers_of_tests_live_in_support():
    beside = {"conftest.py", "__init__.py"}
    elsewhere = [
        name
        for path in tracked(".py")
        if (name := str(path.relative_to(ROOT))).startswith(("tests/python/", "tests/system/"))
        and "programs" not in path.parts
        and path.name not in beside
        and not path.name.startswith("test_")
    ]
    assert elsewhere == []


def test_lines_of_the_documentation_fit_a_screen():
    """Tables, code and links cannot be wrapped."""
    pages = [ROOT / "README.md", ROOT / "docs/README.md", ROOT / "docs/concepts/design.md"]
    long = []
    for path in [*pages, *(ROOT / "docs/guides").glob("*.md")]:
        text = re.sub(
            r"^```.*?^```|`[^`\n]*`|\]\([^)]*\)", "", path.read_text(), flags=re.MULTILINE | re.DOTALL
        )
        long += [line for line in text.split("\n") if len(line) > 100 and not line.startswith(("|", "!"))]
    assert long == []

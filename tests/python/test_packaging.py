"""Recipes of packaging systems say what pyproject.toml says."""

import hashlib
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tools.generate.packaging.__main__ import RECIPES, deliver_recipe, render, write_for
from tools.generate.packaging.checksums import base32
from tools.generate.packaging.project import Dependency, read_pins, read_project
from tools.generate.packaging.requirements import requirements

ROOT = Path(__file__).parents[2]
WITH_DEPENDENCIES = [name for name in RECIPES if re.search(r"conda|guix\.scm|package\.py", name)]


EASYCONFIGS = [name for name in RECIPES if name.endswith(".eb")]


@pytest.mark.parametrize("target", RECIPES)
def test_committed_recipes_match_their_generator(target):
    assert (ROOT / target).read_text() == render(target, read_project(ROOT))


def test_no_recipe_of_another_version_is_left():
    assert {str(path.relative_to(ROOT)) for path in ROOT.glob("packaging/easybuild/*")} == {*EASYCONFIGS}


@pytest.fixture
def with_dependency(tmp_path: Path):
    """`with_dependency(line)`: the project with one more dependency."""

    def read(line: str):
        for name in ("pyproject.toml", "hatch_build.py", "src/mpiric/__init__.py"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
        text = (tmp_path / "pyproject.toml").read_text()
        assert '"tomli-w>=1.0",' in text
        (tmp_path / "pyproject.toml").write_text(
            text.replace('"tomli-w>=1.0",', f'"tomli-w>=1.0",\n    "{line}",')
        )
        return read_project(tmp_path)

    return read


@pytest.mark.parametrize("target", WITH_DEPENDENCIES)
def test_a_dependency_added_to_the_project_alone_changes_every_recipe(target, with_dependency):
    rendered = render(target, with_dependency("networkx>=3"))
    assert "networkx" in rendered
    assert rendered != (ROOT / target).read_text()


@pytest.mark.parametrize("target", EASYCONFIGS)
def test_a_dependency_without_a_pinned_version_stops_recipes_that_name_versions(target, with_dependency):
    with pytest.raises(ValueError, match="networkx is not pinned"):
        render(target, with_dependency("networkx>=3"))


def test_pins_cover_every_dependency():
    project = read_project(ROOT)
    pinned = {
        pin.name: [pin.name for pin in read_pins(project)].index(pin.name) for pin in read_pins(project)
    }
    assert pinned.keys() >= {dependency.name for dependency in project.dependencies}
    assert pinned["pygments"] < pinned["rich"] > pinned["markdown-it-py"], "each comes after what it needs"


def test_an_older_python_gets_backports():
    old, new = (
        {line.partition("==")[0] for line in requirements(platform)}
        for platform in ("3.10-x86_64", "3.13-aarch64")
    )
    assert old - new == {"tomli"}
    assert new <= old


@pytest.mark.parametrize("line", ["a==1", "a[b]>=1", "a>=1; sys_platform == 'win32'"])
def test_a_dependency_that_recipes_have_no_words_for_is_refused(line, with_dependency):
    with pytest.raises(ValueError, match="recipes know"):
        with_dependency(line)


def test_an_older_python_requires_backports():
    spack = render(next(name for name in RECIPES if name.endswith("package.py")), read_project(ROOT))
    assert 'depends_on("py-tomli@2.0:", type=("build", "run"), when="^python@:3.10")' in spack
    assert Dependency("tomli", "2.0", "3.11").python_until == "3.10"


def test_python_recipes_are_python():
    for name in RECIPES:
        if name.endswith(".py"):
            compile(render(name, read_project(ROOT)), name, "exec")


def test_the_version_reaches_every_recipe_that_names_one():
    project = replace(read_project(ROOT), version="9.8.7")
    naming = [name for name in RECIPES if "9.8.7" in render(name, project)]
    assert len(naming) == 9


def test_recipes_next_to_packages_have_their_checksums(tmp_path):
    names = [
        f"mpiric-{read_project(ROOT).version}{end}"
        for end in (".tar.gz", "-py3-none-manylinux_2_17_x86_64.whl")
    ]
    for name in names:
        (tmp_path / name).write_text(name)
    write_for(tmp_path, read_project(ROOT))
    sums = [hashlib.sha256(name.encode()).hexdigest() for name in names]
    recipes = tmp_path / "recipes"
    for name in (
        "conda/meta.yaml",
        "conda/recipe.yaml",
        "spack/spack_repo/mpiric/packages/py_mpiric/package.py",
    ):
        assert all(checksum in (recipes / name).read_text() for checksum in sums), name
    assert all(base32(checksum) in (recipes / "guix/guix.scm").read_text() for checksum in sums)
    assert all(sums[1] in path.read_text() for path in recipes.glob("easybuild/*.eb"))


def test_a_checksum_is_written_as_guix_writes_it():
    hello = "31e066137a962676e89f69d1b65382de95a7ef7d914b8cb956f41ea72e0f516b"
    assert base32(hello) == "0ssi1wpaf7plaswqqjwigppsg5fyh99vdlb9kzl7c9lng89ndq1i"


def test_both_container_recipes_install_by_the_same_words():
    texts = [render(name, read_project(ROOT)) for name in RECIPES if "containers" in name]
    commands = [re.search(r"python3 -m venv /opt/mpiric .*", text) for text in texts]
    assert len({command.group() for command in commands if command}) == 1


def test_every_recipe_is_compared_also_after_one_that_cannot_be_made(with_dependency, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["packaging", "--check"])
    project = with_dependency("networkx>=3")
    wrong = [target for target in RECIPES if deliver_recipe(target, project)]
    assert {*wrong} == {*WITH_DEPENDENCIES, *EASYCONFIGS}
    errors = capsys.readouterr().err
    assert all(target in errors for target in wrong)

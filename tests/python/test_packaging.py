"""Recipes of packaging systems say what pyproject.toml says."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tools.generate.packaging.__main__ import RECIPES, render
from tools.generate.packaging.project import Dependency, read_project

ROOT = Path(__file__).parents[2]
WITH_DEPENDENCIES = [name for name in RECIPES if re.search(r"conda|guix\.scm|package\.py", name)]


@pytest.mark.parametrize("target", RECIPES)
def test_a_recipe_is_what_the_generator_writes(target):
    assert (ROOT / target).read_text() == render(target, read_project(ROOT))


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


@pytest.mark.parametrize("line", ["a==1", "a[b]>=1", "a>=1; sys_platform == 'win32'"])
def test_a_dependency_that_recipes_have_no_words_for_is_refused(line, with_dependency):
    with pytest.raises(ValueError, match="recipes know"):
        with_dependency(line)


def test_an_older_python_needs_what_newer_ones_have():
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
    assert len(naming) == 7

"""Recipes of packaging systems, read by these systems' own programs where those are to be had."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tools.generate.packaging.__main__ import write_for
from tools.generate.packaging.project import read_project

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"
VERSION = read_project(ROOT).version
LMOD = ROOT / "build/programs/lmod"
PACKAGES = (
    f"mpiric-{VERSION}.tar.gz",
    *(f"mpiric-{VERSION}-py3-none-manylinux_2_17_{processor}.whl" for processor in ("x86_64", "aarch64")),
)


@pytest.fixture(params=["checkout", "packages"])
def recipes(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Recipes in a checkout, and recipes that accompany packages, with checksums."""
    if request.param == "checkout":
        return PACKAGING
    for name in PACKAGES:
        (tmp_path / name).write_text(name)
    write_for(tmp_path, read_project(ROOT))
    return tmp_path / "recipes"


MODULES = {
    "environment-modules": ["/usr/lib/x86_64-linux-gnu/modulecmd.tcl"],
    "lmod": [str(path) for path in LMOD.glob("usr/share/lmod/*/libexec/lmod")],
}


@pytest.fixture(params=[pytest.param(name, id=name, marks=pytest.mark.requires(name)) for name in MODULES])
def module(request: pytest.FixtureRequest, tmp_path: Path, environment: dict[str, str]):
    """Return `module(lines)`: output of a shell that can load two versions of mpiric."""
    # Lmod takes no Tcl modulefile in a path with a space.
    prefixes = tmp_path / ("two versions" if request.param == "environment-modules" else "versions")
    for version in ("1.0", "2.0"):
        prefix = prefixes / version
        (prefix / "modulefiles/mpiric").mkdir(parents=True)
        shutil.copy(PACKAGING / "modules/mpiric", prefix / f"modulefiles/mpiric/{version}")
        (prefix / "bin").mkdir()
        (prefix / "bin/mpiric").write_text(f"#!/bin/sh\necho {version}\n")
        (prefix / "bin/mpiric").chmod(0o755)

    def run(lines: str) -> list[str]:
        command = MODULES[request.param][0]
        begin = f"module() {{ eval \"$('{command}' bash \"$@\" 2>>'{tmp_path}/words')\"; }}\n"
        paths = {"MODULEPATH": ":".join(str(prefixes / entry / "modulefiles") for entry in ("1.0", "2.0"))}
        variables = {**environment, **paths, "PATH": "/usr/bin:/bin", "MANPATH": "/usr/share/man"}
        if request.param == "lmod":
            variables |= {"LMOD_DIR": str(Path(command).parent), "LMOD_IGNORE_CACHE": "yes"}
        done = subprocess.run(
            ["bash", "-c", begin + lines], env=variables, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run


def test_a_module_brings_its_version_and_takes_it_away(module):
    """Modules of two installed versions exclude each other, and unloading restores the environment."""
    printed = module(
        'before="$PATH $MANPATH"\n'
        "module load mpiric/1.0; mpiric\n"
        "module unload mpiric; module load mpiric/2.0; mpiric; echo ${MANPATH%%/share*}\n"
        'module unload mpiric; [ "$PATH $MANPATH" = "$before" ] && echo as before'
    )
    assert printed[:2] == ["1.0", "2.0"]
    assert printed[2].endswith("versions/2.0")
    assert printed[3] == "as before"


SCHEME = """
(for-each (lambda (sign name)
            (read-hash-extend sign (lambda (_ port) (list name (read port)))))
          '(#\\~ #\\$ #\\+) '(gexp ungexp ungexp-native))
(define (forms port)
  (let ((form (read port))) (if (eof-object? form) '() (cons form (forms port)))))
(for-each (lambda (file) (write (call-with-input-file file forms)) (newline)) (cdr (command-line)))
"""


@pytest.mark.requires("guile")
def test_guile_reads_the_recipes_of_guix(recipes, tmp_path, environment):
    (tmp_path / "read.scm").write_text(SCHEME)
    files = [recipes / f"guix/{name}.scm" for name in ("guix", "manifest", "channels")]
    command = ["guile", "--no-auto-compile", "-s", tmp_path / "read.scm", *files]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    package, manifest, channels = done.stdout.splitlines()
    assert f'(package (name "mpiric") (version "{VERSION}")' in package
    assert ("pypi-uri" in package) == (recipes != PACKAGING)
    assert manifest.startswith("((packages->manifest")
    assert channels == "(%default-channels)"


SPACK = """
said = []
def _directive(name):
    return lambda *words, **more: said.append([name, words, {key: str(value) for key, value in more.items()}])
for name in ("license", "version", "depends_on", "resource"):
    globals()[name] = _directive(name)
EnvironmentModifications = object
join_path = None
"""


def test_the_recipe_of_spack_says_what_is_needed(recipes, tmp_path, environment):
    """Read it by the Spack in MPIRIC_SPACK; without one, by a stub of the directives that the recipe uses."""
    repository = recipes / "spack/spack_repo/mpiric"
    if spack := os.environ.get("MPIRIC_SPACK"):
        command = [f"{spack}/bin/spack", "--config-scope", str(tmp_path / "scope")]
        (tmp_path / "scope").mkdir()
        subprocess.run([*command, "repo", "add", str(repository)], env=environment, check=True)
        done = subprocess.run(
            [*command, "spec", "py-mpiric"], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert f"py-mpiric@{VERSION}" in done.stdout
        return
    for name, text in {
        "spack/package.py": SPACK,
        "spack_repo/builtin/build_systems/python.py": "class PythonPackage: pass\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    asks = "import runpy, json, spack.package as p; runpy.run_path('package.py'); print(json.dumps(p.said))"
    place = repository / "packages/py_mpiric"
    variables = {**environment, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", asks], cwd=place, env=variables, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert f'["version", ["{VERSION}"]' in done.stdout
    assert '["depends_on", ["py-numpy@1.23:"]' in done.stdout
    assert "mpi@" not in done.stdout
    assert done.stdout.count('"resource"') == (0 if recipes == PACKAGING else 2)


RATTLER = """
import json, sys
from pathlib import Path
from rattler_build import Stage0Recipe, VariantConfig
variants = ("c_compiler: [gcc]\\ncxx_compiler: [gxx]\\nc_stdlib: [sysroot]\\nc_stdlib_version: ['2.17']\\n")
recipe = Stage0Recipe.from_yaml(Path(sys.argv[1]).read_text())
(rendered,) = recipe.render(VariantConfig.from_yaml(variants))
print(json.dumps(rendered.recipe.to_dict()))
"""


@pytest.mark.requires("python:rattler_build")
def test_rattler_build_renders_the_recipe_of_conda(recipes, program_python, environment):
    command = [program_python("rattler_build"), "-c", RATTLER, recipes / "conda/recipe.yaml"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert f'"package": {{"name": "mpiric", "version": "{VERSION}"}}' in done.stdout
    assert "clustershell >=1.9" in done.stdout
    assert not any(f'"{mpi}' in done.stdout for mpi in ("mpich", "openmpi", "mpi ")), (
        "external MPIs stay as they are"
    )


@pytest.mark.requires("man")
def test_the_manual_page_is_one(environment):
    page = PACKAGING / "share/man/man1/mpiric.1"
    variables = {**environment, "MANWIDTH": "100", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["man", "--warnings", "-l", page], env=variables, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "mpiric tune [OPTIONS]" in done.stdout


COMPLETIONS = {
    "bash": "source '{share}/bash-completion/completions/mpiric'; complete -p mpiric",
    "fish": "source '{share}/fish/vendor_completions.d/mpiric.fish'; complete --do-complete 'mpiric mach'",
    "zsh": "fpath=('{share}/zsh/site-functions' $fpath); autoload -Uz compinit; compinit -D -u;"
    "print $_comps[mpiric]",
}
FOUND = {
    "bash": "complete -o nosort -F _mpiric_completion mpiric",
    "fish": "machine",
    "zsh": "_mpiric",
}


@pytest.mark.parametrize(
    "shell", [pytest.param(name, marks=pytest.mark.requires(name)) for name in COMPLETIONS]
)
def test_a_shell_finds_the_completions(shell, environment):
    variables = {**environment, "PATH": f"{Path(sys.executable).parent}:{environment['PATH']}"}
    command = [shell, "-c", COMPLETIONS[shell].format(share=PACKAGING / "share")]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip().startswith(FOUND[shell]), done.stderr

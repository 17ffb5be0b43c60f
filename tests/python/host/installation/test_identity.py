"""Self-description of an installation, and changed native parts."""

import json
import subprocess
import sys
from pathlib import Path

from mpiric.host.facts.local import LocalHost
from mpiric.host.installation.native import NativeParts, altered_parts, native_parts

ROOT = Path(__file__).parents[4]


def tree(place: Path, kind: str = "portable") -> Path:
    for name in ("mpich/libmpiric.so", "any/probe-stream"):
        (place / name).parent.mkdir(parents=True)
        (place / name).write_text(name)
    script = ROOT / "cmake/manifest.py"
    subprocess.run([sys.executable, script, place, "Clang 22.1.8", kind], check=True)
    return place


def test_the_manifest_says_who_built_the_parts_and_for_whom(tmp_path):
    parts = native_parts(LocalHost(), tree(tmp_path))
    assert (parts.built_by, parts.portable) == ("Clang 22.1.8", True)
    assert [family.value for family in parts.families] == ["mpich"]
    assert not native_parts(LocalHost(), tree(tmp_path / "local", "local")).portable


def test_parts_as_they_were_built_are_not_altered(tmp_path):
    assert altered_parts(tree(tmp_path)) == ()


def test_a_part_that_was_changed_or_removed_is_named(tmp_path):
    place = tree(tmp_path)
    (place / "mpich/libmpiric.so").write_text("another")
    (place / "any/probe-stream").unlink()
    assert altered_parts(place) == (str(place / "any/probe-stream"), str(place / "mpich/libmpiric.so"))


def test_without_native_parts_nothing_is_claimed(tmp_path):
    assert native_parts(LocalHost(), tmp_path / "none") == NativeParts()
    assert altered_parts(tmp_path / "none") == ()


def test_the_version_is_told_as_json():
    done = subprocess.run(
        [sys.executable, "-m", "mpiric", "--version", "--json"], capture_output=True, text=True, check=True
    )
    identity = json.loads(done.stdout)
    assert set(identity) == {"version", "native", "installed_by"}
    assert set(identity["native"]) == {"built_by", "glibc_floor", "families", "portable"}

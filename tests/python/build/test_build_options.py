"""Targets, aliases, and CPU arguments among the user's flags."""

import pytest

from mpiric.build.build_options import own_options, read, split_targets
from mpiric.build.compilers import Identity, recognise, target_flags
from mpiric.build.targets import canonical, in_order, substitute
from mpiric.model.errors import MpiricError


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("x86-64-v3", "x86_64_v3"),
        ("v4", "x86_64_v4"),
        ("core-avx2", "haswell"),
        ("CORE-AVX2", "haswell"),
        ("AVX", "sandybridge"),
        ("SSE4.2", "nehalem"),
        ("icelake-server", "icelake"),
        ("skylake-avx512", "skylake_avx512"),
        ("znver3", "zen3"),
        ("haswell-64", "haswell"),
        ("px", "x86_64"),
        ("x86-64", "x86_64"),
    ],
)
def test_compilers_spellings_are_accepted(word: str, name: str) -> None:
    assert canonical(word, "x86_64") == name


def test_an_unknown_target_is_named_with_those_that_are_known() -> None:
    with pytest.raises(MpiricError, match="pentium9") as error:
        canonical("pentium9", "x86_64")
    assert "haswell" in error.value.hint


def test_native_is_left_out_and_reported() -> None:
    build_options = read(["-O3", "-march=native", "-mtune=native"], ["v3"], "x86_64")
    assert build_options.arguments == ("-O3",)
    assert build_options.targets == ("x86_64_v3",)
    assert len(build_options.sentences) == 2


@pytest.mark.parametrize(
    "line", ["-march=haswell", "-tp haswell", "-tp=haswell", "-axCORE-AVX2", "-xCORE-AVX2"]
)
def test_a_named_cpu_becomes_a_target(line: str) -> None:
    build_options = read(line.split(), ["v2"], "x86_64")
    assert build_options.targets == ("x86_64_v2", "haswell")
    assert build_options.arguments == ()
    assert build_options.sentences


def test_feature_words_are_kept_for_a_file_that_needs_them() -> None:
    build_options = read(["-mavx2", "-mno-red-zone", "-mfma"], ["v3"], "x86_64")
    assert build_options.feature_words == ("-mavx2", "-mfma")
    assert build_options.arguments == ("-mno-red-zone",)


@pytest.mark.parametrize("word", ["-m32", "--coverage", "-fprofile-generate"])
def test_some_builds_have_no_variants(word: str) -> None:
    assert read([word], ["v3"], "x86_64").targets == ()


@pytest.mark.parametrize(
    "line", ["-xc", "-x c++", "-mcmodel=medium", "-mtune=generic", "-mno-avx2", "-tune=x"]
)
def test_flags_that_only_look_like_cpu_words_stay(line: str) -> None:
    build_options = read(line.split(), ["v3"], "x86_64")
    assert list(build_options.arguments) == line.split()
    assert not build_options.sentences


def test_options_of_mpiric_are_removed_at_any_position() -> None:
    options, remaining = own_options(["-c", "--targets=v3", "a.c", "--no-fma", "--compiler", "clang"])
    assert options == {"--targets": "v3", "--no-fma": "1", "--compiler": "clang"}
    assert remaining == ["-c", "a.c"]
    assert split_targets(" v2, v3 v4 ") == ["v2", "v3", "v4"]


def test_the_more_demanding_variant_comes_first() -> None:
    assert in_order({"a": ["x"], "b": ["x", "y"], "base": []}) == ("b", "a", "base")


def test_an_object_without_a_variant_gives_the_nearest_that_runs() -> None:
    offered = {"base": (), "v2": ("sse",), "v4": ("sse", "avx512")}
    assert substitute("haswell", offered, ("sse", "avx2")) == "v2"
    assert substitute("v4", offered, ("sse",)) == "v4"
    assert substitute("other", {"v4": ("avx512",)}, ()) is None


@pytest.mark.parametrize(
    ("banner", "family", "version"),
    [
        ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0\n", "gcc", "12.2.0"),
        ("c++ (GCC) 13.1.0\n", "gcc", "13.1.0"),
        ("aarch64-linux-gnu-gcc (Debian 12.2.0-14) 12.2.0\n", "gcc", "12.2.0"),
        ("GNU Fortran (Debian 12.2.0-14+deb12u1) 12.2.0\n", "gcc", "12.2.0"),
        ("Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu\n", "clang", "14.0.6"),
        ("Intel(R) oneAPI DPC++/C++ Compiler 2024.1.0 (2024.1.0.20240308)\n", "oneapi", "2024.1.0"),
        ("icc (ICC) 2021.10.0 20230609\n", "intel", "2021.10.0"),
        ("nvc 23.11-0 64-bit target on x86-64 Linux -tp haswell\n", "nvhpc", "23.11"),
        ("AMD clang version 16.0.3 (CLANG: AOCC_4.1.0-Build#270)\n", "aocc", "16.0.3"),
        ("Cray clang version 16.0.1  (hash)\n", "cray", "16.0.1"),
    ],
)
def test_compilers_are_recognised_by_their_banner(banner: str, family: str, version: str) -> None:
    assert recognise(banner, "x86_64") == Identity(family, version, "x86_64")


def test_each_compiler_gets_its_own_spelling() -> None:
    assert target_flags(Identity("gcc", "12.2.0", "x86_64"), "haswell")[0] == "-march=haswell"
    assert target_flags(Identity("nvhpc", "23.1", "x86_64"), "haswell") == ("-tp", "haswell")
    assert target_flags(Identity("nvhpc", "23.1", "x86_64"), "x86_64") == ("-tp=px",)


def test_an_unknown_target_is_reported_with_a_compiler_that_supports_it() -> None:
    with pytest.raises(MpiricError, match=r"gcc 4\.8 cannot build for zen4") as error:
        target_flags(Identity("gcc", "4.8", "x86_64"), "zen4")
    assert "closest target" in error.value.hint

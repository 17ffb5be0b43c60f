"""The choosing function, compiled from the dispatcher's own source and run on made-up CPUs."""

import ctypes
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mpiric.build.targets import Feature, Offer, best_for, features, generic_features, in_order
from mpiric.host.packaged import packaged_directory

pytestmark = pytest.mark.requires("gcc")

TARGETS = (
    "x86_64",
    "x86_64_v2",
    "x86_64_v3",
    "x86_64_v4",
    "sandybridge",
    "haswell",
    "skylake_avx512",
    "zen2",
    "zen4",
    "sapphirerapids",
)
ALL = features("x86_64")
MADE_FOR = {name: tuple(sorted(generic_features(name))) for name in TARGETS}
# Code without instructions of a recognised feature can also run on CPUs older than its target.
NEEDS = {name: tuple(f for f in made_for if not ALL[f].instructions) for name, made_for in MADE_FOR.items()}
ORDER = in_order(MADE_FOR)
REGISTERS = {"eax": 0, "ebx": 1, "ecx": 2, "edx": 3}

HARNESS = """
#include "choose.h"
static mpiric_u32 rows[64][6];
static int row_count;
static mpiric_u64 state;
static void fake_cpuid(mpiric_u32 leaf, mpiric_u32 sub, mpiric_u32 out[4]) {
  int i, k;
  for (k = 0; k < 4; k++) out[k] = 0;
  for (i = 0; i < row_count; i++)
    if (rows[i][0] == leaf && rows[i][1] == sub) for (k = 0; k < 4; k++) out[k] = rows[i][2 + k];
}
static mpiric_u64 fake_state(void) { return state; }
%s
int choose(const mpiric_u32 *given, int count, mpiric_u64 xcr0) {
  struct mpiric_cpu cpu = {fake_cpuid, fake_state, {0, 0}};
  struct mpiric_answers answers;
  int i, k;
  for (i = 0; i < count; i++) for (k = 0; k < 6; k++) rows[i][k] = given[6 * i + k];
  row_count = count;
  state = xcr0;
  answers.cpu = &cpu;
  answers.count = 0;
  return mpiric_choose(&answers, table, variants, (int)(sizeof variants / sizeof variants[0]));
}
"""


def _row(f: Feature) -> str:
    return f'{{"{f.name}", {f.leaf}u, {f.subleaf}, {REGISTERS[f.register]}, {f.bit}, {f.state}ul}}'


def _tables() -> str:
    names = sorted({need for needs in MADE_FOR.values() for need in needs})
    rows = ",".join(_row(ALL[name]) for name in names)
    needs = "\n".join(
        f"static const mpiric_u16 {word}_{at}[] = {{{','.join(str(names.index(n)) for n in of[target])}}};"
        for word, of in (("needs", NEEDS), ("made_for", MADE_FOR))
        for at, target in enumerate(ORDER)
    )
    variants = ",".join(
        f'{{"{t}", needs_{at}, {len(NEEDS[t])}, made_for_{at}, {len(MADE_FOR[t])}}}'
        for at, t in enumerate(ORDER)
    )
    return (
        f"static const struct mpiric_feature table[] = {{{rows}}};\n{needs}\n"
        f"static const struct mpiric_variant variants[] = {{{variants}}};"
    )


Choose = Callable[[set[str], int], str]


@pytest.fixture(scope="module")
def choose(tmp_path_factory: pytest.TempPathFactory) -> Choose:
    place = tmp_path_factory.mktemp("choice")
    (place / "harness.c").write_text(HARNESS % _tables())
    subprocess.run(
        [
            "gcc",
            "-shared",
            "-fPIC",
            "-O1",
            "-w",
            f"-I{packaged_directory('build/dispatch')}",
            "harness.c",
            "-o",
            "choice.so",
        ],
        cwd=place,
        check=True,
    )
    library = ctypes.CDLL(str(Path(place, "choice.so")))

    def on(have: set[str], xcr0: int) -> str:
        rows = _cpuid_rows([ALL[name] for name in have], xcr0)
        flat = [word for (leaf, sub), registers in rows.items() for word in (leaf, sub, *registers)]
        index = library.choose((ctypes.c_uint32 * len(flat))(*flat), len(rows), ctypes.c_uint64(xcr0))
        return ORDER[index] if index >= 0 else ""

    return on


def _cpuid_rows(have: list[Feature], xcr0: int) -> dict[tuple[int, int], list[int]]:
    rows: dict[tuple[int, int], list[int]] = {(0, 0): [0x20, 0, 0, 0], (0x80000000, 0): [0x80000008, 0, 0, 0]}
    rows[1, 0] = [0, 0, 1 << 27 if xcr0 else 0, 0]
    rows[7, 0] = [1, 0, 0, 0]
    for feature in have:
        row = rows.setdefault((feature.leaf, feature.subleaf), [0, 0, 0, 0])
        row[REGISTERS[feature.register]] |= 1 << feature.bit
    return rows


def _can_run(target: str, have: set[str], xcr0: int) -> bool:
    return all(name in have and xcr0 & ALL[name].state == ALL[name].state for name in NEEDS[target])


def test_no_mask_of_features_ever_gets_a_variant_it_forbids(choose: Choose) -> None:
    rng = random.Random(6)
    used = sorted({need for needs in MADE_FOR.values() for need in needs})
    for _ in range(5000):
        have = set(generic_features(rng.choice(TARGETS)))
        have = {name for name in have if rng.random() > rng.choice((0, 0.02, 0.2))}
        have |= {name for name in used if rng.random() < rng.choice((0, 0.05, 0.5))}
        xcr0 = rng.choice((0, 1, 3, 7, 0xE7, 0x602E7, 0xE0, 0x47))
        chosen = choose(have, xcr0)
        assert not chosen or _can_run(chosen, have, xcr0)
        enabled = frozenset(name for name in have if xcr0 & ALL[name].state == ALL[name].state)
        assert chosen == best_for(enabled, [Offer(name, NEEDS[name], MADE_FOR[name]) for name in ORDER])


@pytest.mark.parametrize("target", TARGETS)
def test_a_cpu_of_a_target_takes_the_variant_made_for_it(choose: Choose, target: str) -> None:
    chosen = choose(set(MADE_FOR[target]), 0x602E7)
    assert set(MADE_FOR[chosen]) == set(MADE_FOR[target])


def test_avx_that_the_system_has_not_enabled_is_not_used(choose: Choose) -> None:
    have = set(MADE_FOR["sapphirerapids"])
    assert "avx" not in NEEDS[choose(have, 3)]
    assert "avx" in NEEDS[choose(have, 7)]
    assert "avx512f" not in NEEDS[choose(have, 7)]
    assert "avx512f" in NEEDS[choose(have, 0xE7)]


def test_a_hybrid_that_lost_one_feature_falls_to_the_next_variant(choose: Choose) -> None:
    assert choose(set(MADE_FOR["haswell"]) - {"movbe"}, 7) == "sandybridge"


def test_hidden_features_that_compilers_do_not_use_do_not_exclude_a_variant(
    choose: Choose,
) -> None:
    assert choose(set(MADE_FOR["sapphirerapids"]) - {"amx_tile", "serialize"}, 0xE7) == "sapphirerapids"
    assert choose(set(MADE_FOR["skylake_avx512"]), 0xE7) == "skylake_avx512"
    assert choose(set(MADE_FOR["zen2"]) - {"clzero", "rdpid"}, 7) == "zen2"


def test_every_feature_of_every_target_can_be_queried() -> None:
    import archspec.cpu

    for machine in ("x86_64", "aarch64"):
        known_features = features(machine)
        for name, target in archspec.cpu.TARGETS.items():
            if str(target.family) == machine:
                assert set(target.features) <= set(known_features), name

"""Programs with every feature a linker has to get right, built fat: each variant answers as the plain build does."""

# ruff: noqa: E501 — contains sources of other languages

import random
import subprocess

import pytest
from tests.support.workshop import MAIN_C, WHICH_C, Workshop

pytestmark = pytest.mark.requires("gcc", "qemu-x86_64")


@pytest.mark.parametrize(
    ("cpu", "answer"),
    [("Nehalem", "v2"), ("SandyBridge", "v2"), ("Haswell", "v3"), ("core2duo", "base"), ("max", "v3")],
)
def test_each_cpu_takes_the_best_variant_it_can_run(shop: Workshop, cpu: str, answer: str) -> None:
    shop.write(which_c=WHICH_C, main_c=MAIN_C)
    shop.fat("cc", "-O2", "main.c", "which.c", "-o", "prog")
    assert shop.run("prog", cpu=cpu) == answer + "\n"


def test_a_variant_this_cpu_cannot_run_is_not_taken_by_name(shop: Workshop) -> None:
    shop.write(which_c=WHICH_C, main_c=MAIN_C)
    shop.fat("cc", "-O2", "main.c", "which.c", "-o", "prog")
    assert shop.run("prog", cpu="Nehalem", target="x86_64_v3") == "v2\n"


def test_a_machine_with_odd_features_hidden_never_meets_an_instruction_it_lacks(shop: Workshop) -> None:
    second = ("popcnt", "sse4.1", "sse4.2", "ssse3", "cx16", "lahf-lm")
    third = ("avx", "avx2", "bmi1", "bmi2", "fma", "movbe", "f16c", "abm", "xsave")
    shop.write(
        which_c=WHICH_C,
        main_c="#include <stdio.h>\nconst char *which(void);\nstatic double x[999], y[999];\n"
        "__attribute__((constructor)) static void fill(void) { for (int i = 0; i < 999; i++) x[i] = 0.5 * i; }\n"
        "int main(void) {\n  double s = 0;\n  for (int i = 0; i < 999; i++) y[i] += 3 * x[i];\n"
        '  for (int i = 0; i < 999; i++) s += y[i];\n  printf("%s %.1f\\n", which(), s);\n  return 0;\n}\n',
    )
    shop.fat("cc", "-O3", "main.c", "which.c", "-o", "prog")
    rng = random.Random(7)
    for _ in range(16):
        hidden = [name for name in second + third if rng.random() < rng.choice((0.02, 0.1, 0.4))]
        output = shop.run("prog", cpu=",".join(["max", *(f"-{name}" for name in hidden)])).split()
        lost_second, lost_third = set(hidden).intersection(second), set(hidden).intersection(third)
        assert output[0] in {"base"} | ({"v2"} if not lost_second else set()) | (
            {"v3"} if not hidden else set()
        )
        assert output[0] == "v3" or lost_second or lost_third
        assert output[1] == "747751.5"


def test_objects_archives_and_thin_archives_carry_their_variants(shop: Workshop) -> None:
    shop.write(which_c=WHICH_C, main_c=MAIN_C)
    shop.fat("cc", "-c", "-O2", "main.c")
    shop.fat("cc", "-c", "-O2", "which.c")
    for flags in ("rcs", "rcsT"):
        shop.plain("rm", "-f", "libwhich.a")
        shop.plain("ar", flags, "libwhich.a", "which.o")
        shop.fat("cc", "main.o", "-L.", "-lwhich", "-o", "prog")
        assert shop.run("prog", cpu="Haswell") == "v3\n"
        assert shop.run("prog", cpu="core2duo") == "base\n"


def test_a_thin_archive_taken_whole_is_in_each_variant_and_nowhere_else(shop: Workshop) -> None:
    shop.write(
        which_c=WHICH_C, main_c=MAIN_C,
        once_c='#include <stdio.h>\n__attribute__((constructor)) static void once(void) { puts("once"); }\n',
    )  # fmt: skip
    shop.fat("cc", "-O2", "-c", "main.c", "which.c", "once.c")
    shop.plain("ar", "rcT", "all.a", "which.o", "once.o")
    complete = ("-Wl,--whole-archive", "all.a", "-Wl,--no-whole-archive")
    shop.fat("cc", "-rdynamic", "main.o", *complete, "-o", "fat")
    for target, word in (("x86_64", "base"), ("x86_64_v2", "v2"), ("x86_64_v3", "v3")):
        assert shop.run("fat", target=target) == f"once\n{word}\n"


def test_a_plain_linker_takes_the_baseline_of_a_fat_object(shop: Workshop) -> None:
    shop.write(which_c=WHICH_C, main_c=MAIN_C)
    shop.fat("cc", "-c", "-O2", "main.c", "which.c")
    shop.plain("gcc", "main.o", "which.o", "-o", "prog")
    assert shop.run("prog") == "base\n"
    assert ".mpiric" not in shop.plain("readelf", "-SW", "prog")


def test_constructors_and_destructors_run_once_in_the_order_of_their_priorities(shop: Workshop) -> None:
    shop.write(
        a_c="#include <stdio.h>\n#include <stdlib.h>\n"
        '__attribute__((constructor(200))) static void c1(void) { puts("c200"); }\n'
        '__attribute__((constructor)) static void c2(void) { puts("a"); }\n'
        '__attribute__((destructor(300))) static void d1(void) { puts("d300"); }\n'
        '__attribute__((destructor)) static void d2(void) { puts("da"); }\n'
        'static void bye(void) { puts("atexit"); }\nvoid b(void);\n'
        'int main(int n, char **v) { atexit(bye); b(); printf("%d\\n", n); return 0; }\n',
        b_c="#include <stdio.h>\n"
        '__attribute__((constructor(150))) static void c1(void) { puts("c150"); }\n'
        '__attribute__((constructor)) static void c2(int n, char **v, char **e) { printf("b %d %d\\n", n, v[n] == 0); }\n'
        '__attribute__((destructor(250))) static void d1(void) { puts("d250"); }\n'
        '__attribute__((destructor)) static void d2(void) { puts("db"); }\nvoid b(void) {}\n',
    )
    shop.plain("gcc", "a.c", "b.c", "-o", "plain")
    shop.fat("cc", "a.c", "b.c", "-o", "fat")
    shop.same_everywhere("fat", shop.run("plain"))


CXX_A = """
#include "shape.h"
#include <iostream>
#include <map>
#include <typeinfo>
#include <vector>
static Trace first("first");
thread_local int per_thread = 41;
int main() {
  static Trace local("local");
  std::map<std::string, std::vector<int>> m;
  m["x"].push_back(++per_thread);
  try { fail(3); } catch (const Odd& e) { std::cout << "caught " << e.what() << ' ' << e.value << '\\n'; }
  try { std::vector<int>().at(5); } catch (const std::out_of_range& e) { std::cout << "range\\n"; }
  auto shape = make();
  std::cout << shape->area() << ' ' << (typeid(*shape) == typeid(Square)) << ' '
            << (dynamic_cast<Square*>(shape.get()) != nullptr) << ' ' << counter<int>() << ' ' << m["x"][0] << '\\n';
  return 0;
}
"""
CXX_B = """
#include "shape.h"
static Trace second("second");
void fail(int n) { if (n % 2) throw Odd(n); }
std::unique_ptr<Shape> make() { counter<int>(); return std::make_unique<Square>(3); }
"""
CXX_H = """
#pragma once
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
struct Trace { std::string n; Trace(const char* s) : n(s) { std::puts(s); } ~Trace() { std::puts(("~" + n).c_str()); } };
struct Odd : std::runtime_error { int value; Odd(int v) : std::runtime_error("odd"), value(v) {} };
struct Shape { virtual double area() const = 0; virtual ~Shape() = default; };
struct Square : Shape { double s; Square(double x) : s(x) {} double area() const override { return s * s; } };
template <class T> int counter() { static int n = 0; return ++n; }
void fail(int);
std::unique_ptr<Shape> make();
"""


@pytest.mark.requires("g++")
@pytest.mark.parametrize("flags", [
    (),
    *(pytest.param(flags, marks=pytest.mark.sweep) for flags in (
        ("-static",), ("-flto",),
        ("-no-pie", "-fno-pie"), ("-static-libstdc++", "-static-libgcc"), ("-g", "-O0"),
        ("-Wl,--gc-sections", "-ffunction-sections", "-fdata-sections"), ("-rdynamic",), ("-fno-gnu-unique",),
        ("-static-pie", "-fPIE"))),
])  # fmt: skip
def test_cxx_exceptions_statics_and_templates_work_in_every_variant(
    shop: Workshop, flags: tuple[str, ...]
) -> None:
    shop.write(a_cc=CXX_A, b_cc=CXX_B, shape_h=CXX_H)
    shop.plain("g++", "-O2", *flags, "a.cc", "b.cc", "-o", "plain")
    shop.fat("cxx", "-O2", *flags, "-c", "a.cc")
    shop.fat("cxx", "-O2", *flags, "-c", "b.cc")
    shop.fat("cxx", "-O2", *flags, "a.o", "b.o", "-o", "fat")
    shop.same_everywhere("fat", shop.run("plain"))


@pytest.mark.requires("gfortran")
@pytest.mark.parametrize("flags", [(), ("-fopenmp",), ("-flto",), ("-static",)])
def test_fortran_modules_common_and_threads_work_in_every_variant(
    shop: Workshop, flags: tuple[str, ...]
) -> None:
    shop.write(
        m_f90="module field\n  implicit none\n  real(8) :: shared(100) = 1\ncontains\n  function total() result(t)\n"
        "    real(8) :: t\n    integer :: i\n    t = 0\n!$omp parallel do reduction(+:t)\n    do i = 1, 100\n"
        "      t = t + shared(i) * i\n    end do\n  end function\nend module\n",
        p_f90="program p\n  use field\n  implicit none\n  integer :: n\n  common /block/ n\n  call set(7)\n"
        "  write(*,'(f10.2,i4,a)') total(), n, ' ok'\nend program\n",
        s_f90="subroutine set(k)\n  implicit none\n  integer :: k, n\n  common /block/ n\n  n = k\nend subroutine\n",
    )
    shop.plain("gfortran", "-O2", *flags, "m.f90", "p.f90", "s.f90", "-o", "plain")
    for name in ("m", "p", "s"):
        shop.fat("fc", "-O2", *flags, "-c", f"{name}.f90")
    shop.fat("fc", *flags, "m.o", "p.o", "s.o", "-o", "fat")
    shop.same_everywhere("fat", shop.run("plain"))


def test_linker_sets_hold_the_entries_of_one_variant(shop: Workshop) -> None:
    shop.write(
        a_c="#include <stdio.h>\ntypedef const char *(*entry)(void);\nextern entry __start_things[], __stop_things[];\n"
        "int main(void) { for (entry *e = __start_things; e < __stop_things; e++) puts((*e)()); return 0; }\n",
        b_c="const char *which(void);\ntypedef const char *(*entry)(void);\n"
        '__attribute__((section("things"), used)) static entry mine = which;\n',
        which_c=WHICH_C,
    )
    shop.fat("cc", "a.c", "b.c", "which.c", "-o", "fat")
    assert shop.run("fat", cpu="Haswell") == "v3\n"
    assert shop.run("fat", cpu="core2duo") == "base\n"


def test_a_program_that_replaces_malloc_keeps_one_heap(shop: Workshop) -> None:
    shop.write(
        main_c="#include <stdio.h>\n#include <string.h>\n#include <stdlib.h>\n"
        "static char pool[1 << 22];\nstatic unsigned long used;\nint calls;\n"
        "void *malloc(size_t n) { calls++; void *p = pool + used; used += (n + 31) & ~15ul; return p; }\n"
        "void free(void *p) { if (p && ((char *)p < pool || (char *)p >= pool + used)) abort(); }\n"
        "void *calloc(size_t n, size_t m) { return memset(malloc(n * m), 0, n * m); }\n"
        "void *realloc(void *p, size_t n) { void *q = malloc(n); if (p) memcpy(q, p, n); free(p); return q; }\n"
        'int main(void) { char *p = strdup("fine"); puts(p); free(p); return calls < 2; }\n',
    )
    for flags in ((), ("-static",)):
        shop.fat("cc", "-O2", "-fno-builtin", *flags, "main.c", "-o", "fat")
        shop.same_everywhere("fat", "fine\n")


def test_common_and_weak_symbols_are_one_in_every_variant(shop: Workshop) -> None:
    shop.write(
        a_c="#include <stdio.h>\nint shared;\nint tall[4];\nvoid b(void);\nextern int absent __attribute__((weak));\n"
        '__attribute__((weak)) const char *name(void) { return "weak"; }\n'
        '__attribute__((weak)) const char *alone(void) { return "alone"; }\n'
        'int main(void) { b(); printf("%d %d %s %s %d\\n", shared, tall[9], name(), alone(), &absent == 0); return 0; }\n',
        b_c='int shared;\nint tall[16];\nconst char *name(void) { return "strong"; }\nvoid b(void) { shared = 5; tall[9] = 7; }\n',
    )
    for flags in ((), ("-rdynamic",), ("-static",)):
        shop.plain("gcc", "-O2", "-fcommon", *flags, "a.c", "b.c", "-o", "plain")
        shop.fat("cc", "-O2", "-fcommon", *flags, "a.c", "b.c", "-o", "fat")
        shop.same_everywhere("fat", shop.run("plain"))


def test_wrapped_symbols_are_wrapped_once(shop: Workshop) -> None:
    shop.write(
        main_c="#include <stdio.h>\n#include <stdlib.h>\nvoid *__real_malloc(size_t n);\nstatic int calls;\n"
        "void *__wrap_malloc(size_t n) { calls++; return __real_malloc(n); }\n"
        'int main(void) { free(malloc(10)); printf("%d\\n", calls); return 0; }\n',
    )
    shop.fat("cc", "-O1", "-fno-builtin", "main.c", "-Wl,--wrap=malloc", "-o", "fat")
    shop.same_everywhere("fat", "1\n")


@pytest.mark.sweep
def test_two_builds_are_the_same_file(shop: Workshop) -> None:
    shop.write(a_cc=CXX_A, b_cc=CXX_B, shape_h=CXX_H)
    images = []
    for _ in range(2):
        shop.fat("cxx", "-O2", "-flto", "a.cc", "b.cc", "-o", "fat")
        images.append((shop.place / "fat").read_bytes())
    assert images[0] == images[1]


@pytest.mark.requires("gdb")
def test_debuggers_find_the_names_of_the_program(shop: Workshop) -> None:
    shop.write(which_c=WHICH_C, main_c=MAIN_C)
    shop.fat("cc", "-g", "-O0", "main.c", "which.c", "-o", "fat")
    done = subprocess.run(
        ["gdb", "-batch", "-ex", "break which", "-ex", "run", "-ex", "bt", "-ex", "info source", "./fat"],
        cwd=shop.place,
        capture_output=True,
        text=True,
    )
    assert "in main () at main.c:3" in done.stdout
    assert "which.c" in done.stdout


@pytest.mark.requires("gfortran")
def test_large_static_arrays_are_there_once_for_all_variants(shop: Workshop) -> None:
    shop.write(
        big_f90="program big\n  implicit none\n  real(8) :: a(90000000)\n  integer :: n\n  common /blk/ a, n\n"
        "  call set()\n  call more()\n  write(*,'(i10,2f8.1)') n, a(n), a(1)\nend program\n",
        set_f90="subroutine set()\n  implicit none\n  real(8) :: a(90000000)\n  integer :: n\n  common /blk/ a, n\n"
        "  n = 90000000\n  a(n) = a(n) + 42\nend subroutine\n",
        more_c="static int x[16 << 20]; int y[16 << 20];\nstatic double z[4];\nextern struct { double a[90000000]; int n; } blk_;\n"
        "void more_(void) { x[100]++; y[5] = x[100]; z[1] += y[5]; blk_.a[0] += z[1]; }\n",
    )
    shop.fat("fc", "-O2", "big.f90", "set.f90", "more.c", "-o", "fat")
    shop.same_everywhere("fat", "  90000000    42.0     1.0\n")
    sizes = shop.plain("size", "fat").splitlines()[1].split()
    assert int(sizes[2]) < 1.1 * (90000000 * 8 + 2 * 4 * (16 << 20))


def test_a_large_table_is_there_once_for_all_variants(shop: Workshop) -> None:
    numbers = [7 * n % 1009 for n in range(40000)]
    rows, back = ",".join(map(str, numbers)), ",".join(map(str, reversed(numbers)))
    shop.write(
        table_c=f"const int shown[40000] = {{{rows}}};\nstatic const int own[40000] = {{{back}}};\n"
        "const int *inner(void) { return own + 5; }\nint at(int n) { return own[n] + shown[n]; }\n",
        main_c="#include <stdio.h>\nextern const int shown[];\nconst int *inner(void);\nint at(int);\n"
        'int main(int n, char **v) { printf("%d %d %d\\n", shown[3 * n], *inner(), at(n)); return 0; }\n',
    )
    shop.fat("cc", "-O2", "main.c", "table.c", "-o", "fat")
    shop.same_everywhere("fat", f"21 {numbers[-6]} {7 + numbers[-2]}\n")
    assert (shop.place / "fat").stat().st_size < 1.5 * 2 * 40000 * 4

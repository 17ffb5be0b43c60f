"""Fat programs with plug-ins and libraries: both meet the functions and data of the chosen variant."""

# ruff: noqa: E501 — contains sources of other languages

import subprocess
from pathlib import Path

import pytest
from tests.support.workshop import MAIN_C, WHICH_C, Workshop

pytestmark = pytest.mark.requires("gcc", "qemu-x86_64")


PLUGIN_HOST = """
#include <dlfcn.h>
#include <stdio.h>
#include "host.h"
int answer = 42;
const char *words[2] = {"zero", "one"};
struct table table = {which, "table"};
int twice(int x) { answer++; return 2 * x; }
int main(void) {
  void *p = dlopen("./plugin.so", RTLD_NOW);
  if (!p) { puts(dlerror()); return 1; }
  int (*go)(void) = (int (*)(void))dlsym(p, "go");
  int got = go();
  printf("%d %d\\n", got, answer);
  int *seen = (int *)dlsym(RTLD_DEFAULT, "answer");
  printf("%d %d\\n", *seen, seen == &answer);
  return 0;
}
"""
PLUGIN = """
#include <stdio.h>
#include "host.h"
extern int answer;
extern const char *words[2];
int twice(int);
int go(void) { answer += 100; printf("%s %s %s\\n", words[1], table.name, table.f() == which() ? "same" : "other"); return twice(answer); }
"""


def test_plug_ins_meet_the_functions_and_data_of_the_chosen_variant(shop: Workshop) -> None:
    shop.write(
        main_c=PLUGIN_HOST,
        which_c=WHICH_C,
        plugin_c=PLUGIN,
        host_h="const char *which(void);\nstruct table { const char *(*f)(void); const char *name; };\nextern struct table table;\n",
    )
    shop.plain("gcc", "-shared", "-fPIC", "plugin.c", "-o", "plugin.so")
    shop.plain("gcc", "-rdynamic", "main.c", "which.c", "-o", "plain", "-ldl")
    shop.fat("cc", "-rdynamic", "main.c", "which.c", "-o", "fat", "-ldl")
    shop.same_everywhere("fat", shop.run("plain"))


def test_a_function_has_one_address_for_program_and_plug_in(shop: Workshop) -> None:
    shop.write(
        main_c="#include <dlfcn.h>\n#include <stdio.h>\n#include <stdlib.h>\ntypedef int (*F)(int);\n"
        "int up(int x) { return x + 1; }\nint twice(int x) { return 2 * x; }\n"
        "static F const table[] = {up, twice};\nF known = twice;\n"
        'int main(void) {\n  void *plug = dlopen("./plug.so", RTLD_NOW);\n  F (*give)(int) = dlsym(plug, "give");\n'
        "  F volatile own = up;\n"
        '  printf("%d %d %d %d\\n", own == give(0), table[1] == give(1), known == give(1), own(1) + give(1)(5));\n'
        "  return 0;\n}\n",
        plug_c="typedef int (*F)(int);\nint up(int), twice(int);\nF give(int n) { return n ? twice : up; }\n",
    )
    shop.plain("gcc", "-shared", "-fPIC", "plug.c", "-o", "plug.so")
    for arguments in (("-O2",), ("-O0", "-no-pie", "-fno-pie"), ("-O2", "-fPIC", "-fno-plt")):
        shop.fat("cc", *arguments, "-rdynamic", "main.c", "-ldl", "-o", "fat")
        shop.same_everywhere("fat", "1 1 1 12\n")


@pytest.mark.requires("g++")
def test_a_cxx_function_has_one_address_too(shop: Workshop) -> None:
    """Free functions, class members and templates; a virtual call still goes directly to the variant."""
    shop.write(
        host_h="#pragma once\ntypedef int (*F)(int);\nint up(int);\ntemplate <class T> int twice(T x) { return 2 * x; }\n"
        "struct Shape { virtual int area() const; int edges() const; virtual ~Shape(); };\ntypedef int (Shape::*M)() const;\n"
        "F give(int); M edges(); int area_of(const Shape &);\n",
        main_cc='#include "host.h"\n#include <cstdio>\n#include <functional>\nint up(int x) { return x + 1; }\n'
        "int Shape::area() const { return 3; }\nint Shape::edges() const { return 4; }\nShape::~Shape() {}\n"
        "struct Round : Shape { int area() const override { return 7; } };\nstatic const F table[] = {up, twice<int>};\n"
        "int main() {\n  M volatile own = &Shape::edges;\n  std::function<int(int)> f = give(0);\n"
        "  F volatile there = give(1);\n"
        '  printf("%d %d %d %d %d\\n", table[0] == give(0), table[1] == there, own == edges(), *f.target<F>() == up,\n'
        "         area_of(Round()) + area_of(Shape()) + f(1) + (Round().*edges())());\n}\n",
        plug_cc='#include "host.h"\nF give(int n) { return n ? &twice<int> : &up; }\nM edges() { return &Shape::edges; }\n'
        "int area_of(const Shape &s) { return s.area(); }\n",
    )
    shop.plain("g++", "-O1", "-shared", "-fPIC", "plug.cc", "-o", "libplug.so")
    for arguments in (("-O2",), ("-O0", "-no-pie", "-fno-pie"), ("-O2", "-flto")):
        shop.fat(
            "cxx", *arguments, "-rdynamic", "main.cc", "-L.", "-lplug", "-Wl,-rpath,$ORIGIN", "-o", "fat"
        )
        shop.same_everywhere("fat", "1 1 1 1 16\n")


@pytest.mark.requires("g++")
def test_cxx_plug_ins_share_types_exceptions_and_statics_with_the_program(shop: Workshop) -> None:
    shop.write(
        host_h="#pragma once\n#include <stdexcept>\n"
        "struct Base { virtual int value() const { return 1; } virtual ~Base() = default; };\n"
        "struct Odd : std::runtime_error { using std::runtime_error::runtime_error; };\n"
        "template <class T> T &counter() { static T n = 0; return n; }\n"
        "inline thread_local int mine = 5;\nBase *build();\nvoid refuse();\n",
        main_cc='#include "host.h"\n#include <dlfcn.h>\n#include <iostream>\n'
        "struct Own : Base { int value() const override { return 2; } };\n"
        'Base *build() { return new Own; }\nvoid refuse() { throw Odd("host"); }\n'
        "int main() {\n  counter<int>() = 40; mine = 6;\n"
        '  void *p = dlopen("./plugin.so", RTLD_NOW);\n  if (!p) { std::cout << dlerror(); return 1; }\n'
        '  auto go = reinterpret_cast<Base *(*)()>(dlsym(p, "go"));\n'
        "  try { go(); } catch (const Odd &e) { std::cout << e.what() << counter<int>() << mine << '\\n'; }\n"
        "  Base *b = go();\n  std::cout << b->value() << (dynamic_cast<Own *>(b) != nullptr) << counter<int>() << '\\n';\n}\n",
        plugin_cc='#include "host.h"\nextern "C" Base *go() {\n'
        '  if (counter<int>()++ == 40) { mine++; throw Odd("plugin"); }\n'
        "  try { refuse(); } catch (const Odd &) { counter<int>() += 100; }\n  return build();\n}\n",
    )
    shop.plain("g++", "-O1", "-shared", "-fPIC", "plugin.cc", "-o", "plugin.so")
    shop.plain("g++", "-O2", "-rdynamic", "main.cc", "-o", "plain", "-ldl")
    for flags in ((), ("-fno-gnu-unique",)):
        shop.fat("cxx", "-O2", "-rdynamic", *flags, "main.cc", "-o", "fat", "-ldl")
        shop.same_everywhere("fat", shop.run("plain"))


def test_a_library_calls_back_and_shares_data_with_the_chosen_variant(shop: Workshop) -> None:
    shop.write(
        lib_c="#include <stdio.h>\nextern int level;\nconst char *which(void);\nvoid hello(void);\n"
        '__attribute__((constructor)) static void early(void) { printf("early %s\\n", which()); }\n'
        "void hello(void) { level += 5; puts(which()); }\n",
        which_c=WHICH_C,
        main_c="#include <stdio.h>\nint level = 1;\nvoid hello(void);\nextern char **environ;\n"
        'int main(void) { hello(); fprintf(stdout, "%d %d\\n", level, environ != 0); return 0; }\n',
    )
    shop.plain("gcc", "-shared", "-fPIC", "lib.c", "-o", "libback.so")
    for flags in ((), ("-no-pie", "-fno-pie")):
        shop.fat("cc", "-O2", *flags, "main.c", "which.c", "-L.", "-lback", "-Wl,-rpath,$ORIGIN", "-o", "fat")
        assert shop.run("fat", cpu="Haswell") == "early v3\nv3\n6 1\n"
        assert shop.run("fat", cpu="Nehalem") == "early v2\nv2\n6 1\n"


def test_a_plain_library_that_calls_into_the_program_meets_the_chosen_variant(shop: Workshop) -> None:
    shop.write(
        lib_c='#include <stdio.h>\nconst char *which(void);\nint count;\nvoid say(void) { printf("%s %d\\n", which(), ++count); }\n',
        alone_c="int alone_count;\nint alone(void) { return ++alone_count; }\n",
        which_c=WHICH_C,
        main_c='#include <stdio.h>\nvoid say(void);\nint alone(void);\nint main(void) { say(); say(); printf("%d\\n", alone()); return 0; }\n',
    )
    shop.plain("gcc", "-c", "lib.c", "alone.c")
    shop.plain("ar", "rcs", "libplain.a", "lib.o", "alone.o")
    shop.fat("cc", "main.c", "libplain.a", "which.c", "-o", "fat")
    assert shop.run("fat", cpu="Haswell") == "v3 1\nv3 2\n1\n"
    assert shop.plain("nm", "fat").count(" alone\n") == 1


def test_shared_libraries_are_laid_out_by_level(shop: Workshop) -> None:
    shop.write(which_c=WHICH_C, main_c=MAIN_C)
    shop.fat("cc", "-fPIC", "-c", "-O2", "which.c")
    shop.fat("cc", "-shared", "-Wl,-soname,libwhich.so.1", "which.o", "-o", "libwhich.so.1.0")
    shop.plain("ln", "-s", "libwhich.so.1.0", "libwhich.so.1")
    shop.plain("gcc", "main.c", "libwhich.so.1.0", "-Wl,-rpath,$ORIGIN", "-o", "prog")
    done = subprocess.run(["./prog"], cwd=shop.place, capture_output=True, text=True)
    flags = Path("/proc/cpuinfo").read_text()
    assert done.stdout == ("v4\n" if "avx512vl" in flags else "v3\n" if "avx2" in flags else done.stdout)
    assert (shop.place / "glibc-hwcaps/x86-64-v3/libwhich.so.1").is_symlink()

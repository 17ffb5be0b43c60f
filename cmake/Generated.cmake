# Generated C++ sources: written from spec/ by tools/generate/native.py when CMake configures, and again when spec/ or a
# generator changes. MPIRIC_GENERATED is their directory.
include_guard(GLOBAL)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(MPIRIC_GENERATED ${CMAKE_BINARY_DIR}/generated)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)
execute_process(COMMAND ${Python3_EXECUTABLE} -B -m tools.generate.native ${MPIRIC_GENERATED}
  WORKING_DIRECTORY ${root} COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE inputs CONFIGURE_DEPENDS ${root}/spec/*.toml ${root}/tools/generate/*.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${inputs})

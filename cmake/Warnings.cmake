# mpiric_warnings: what our own code is held to. Headers of others are SYSTEM and exempt.
add_library(mpiric_warnings INTERFACE)
target_compile_options(
  mpiric_warnings
  INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wundef -Werror
            $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual>)

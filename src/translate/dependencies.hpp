// Dependencies of the library underneath.
#pragma once

#include <string>

namespace mpiric::translate {

/// Opens the dependencies of a library from its own search path (RUNPATH, RPATH), before the dynamic linker
/// would search LD_LIBRARY_PATH, which is the program's: an older library of the same name may be there.
/// Libraries that are loaded already stay.
void open_dependencies(const std::string& library, int depth = 0);

}  // namespace mpiric::translate

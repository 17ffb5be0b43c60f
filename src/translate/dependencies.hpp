// What the library underneath needs.
#pragma once

#include <string>

namespace mpiric::translate {

/// Opens what a library needs from where the library itself says (RUNPATH, RPATH), before the dynamic linker
/// would look along LD_LIBRARY_PATH, which is the program's: an older library of the same name may be there.
/// What is loaded already stays.
void open_dependencies(const std::string& library, int depth = 0);

}  // namespace mpiric::translate

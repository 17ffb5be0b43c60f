// The objects that are loaded in the process: exported names that a look-up finds, dependencies of the
// library underneath, and tools (PMPI) for the types of the program or of that library.
#pragma once

#include <string>
#include <string_view>

namespace mpiric::translate {

/// Whether libraries from before MPI 4 may have the function as an extension: persistent collectives.
inline bool has_form_of_extension(std::string_view name) { return name.ends_with("_init"); }
inline std::string extension(std::string_view name) { return "MPIX_" + std::string(name.substr(4)); }

/// Who answers a function: the library, when it has it, this stand-in by itself, or nobody.
enum class Answer { library, always, never };

/// Removes the MPI functions that `library`, a file, does not define from the table of symbols, except for
/// names that a loaded object needs. A program that binds weakly relies on each name that it finds.
void hide_what_is_lacking(const char* library, Answer (*answer_of)(const char* name));

/// Opens the dependencies of a library from its own search path (RUNPATH, RPATH), before the dynamic linker
/// would search LD_LIBRARY_PATH, which is the program's: an older library of the same name may be there.
/// Libraries that are loaded already stay.
void open_dependencies(const std::string& library, int depth = 0);

/// The tool that gets the program's calls of a name, with its types, or null.
void* tool_above(void* opened, const char* name);
/// The tool that gets the translated calls: it is linked to the library `opened`, or null.
void* tool_below(void* opened, const char* name);

}  // namespace mpiric::translate

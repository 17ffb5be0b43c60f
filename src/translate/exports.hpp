// Which of the exported names a look-up finds.
#pragma once

#include <string>
#include <string_view>

namespace mpiric::translate {

/// Whether libraries from before MPI 4 may have the function as an extension: persistent collectives.
inline bool has_form_of_extension(std::string_view name) { return name.ends_with("_init"); }
inline std::string extension(std::string_view name) { return "MPIX_" + std::string(name.substr(4)); }

/// Who answers a function: the library, when it has it, this stand-in by itself, or nobody.
enum class Answer { library, always, never };

/// Whether something loaded at the start cannot do without the MPI function of this name, in two parts.
bool is_needed(std::string_view prefix, std::string_view name);

/// Removes the MPI functions that `library`, a file, does not define from the table of symbols, except for
/// names that a loaded object needs. A program that binds weakly relies on each name that it finds.
void hide_what_is_lacking(const char* library, Answer (*answer_of)(const char* name));

}  // namespace mpiric::translate

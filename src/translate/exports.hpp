// Which of the exported names a look-up finds.
#pragma once

namespace mpiric::translate {

/// Who answers a function: the library, when it has it, this stand-in by itself, or nobody.
enum class Answer { library, always, never };

/// Takes the MPI functions out of the table of symbols that `library`, a file, does not define, but
/// for those that something loaded cannot do without. A program that binds weakly trusts what it finds.
void hide_what_is_lacking(const char* library, Answer (*answer_of)(const char* name));

}  // namespace mpiric::translate

// Which of the exported names a look-up finds.
#pragma once

namespace mpiric::translate {

/// Takes the MPI functions out of the table of symbols that `library`, a file, does not define or that are refused here, but
/// for those that something loaded cannot do without. A program that binds weakly trusts what it finds.
void hide_what_is_lacking(const char* library, bool (*is_refused)(const char* name));

}  // namespace mpiric::translate

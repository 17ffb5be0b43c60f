// Layouts of files that are made: on Lustre a layout must be there before the first byte is.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

namespace mpiric::files {

inline constinit bool lays_out = false;

/// Makes the file that an open is about to create, with the layout of its rule; whatever fails leaves the
/// open as it would have been.
void make_laid_out(int directory, const char* path, mode_t mode) noexcept;

/// The same where `flags` of open(2) create.
inline void lay_out(int directory, const char* path, int flags, mode_t mode) noexcept {
    if (lays_out && flags & O_CREAT) [[unlikely]]
        make_laid_out(directory, path, mode);
}

}  // namespace mpiric::files

// Layouts of files that are made: on Lustre a layout must be there before the first byte is.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

namespace mpiric::layouts {

inline constinit bool lays_out = false;

/// Makes the file that an open is about to create, with the layout of its rule; false where it was not made:
/// whatever fails leaves the open as it would have been.
bool make_laid_out(int directory, const char* path, mode_t mode) noexcept;

/// The same where `flags` of open(2) create. The flags to go on with: of a file that was made here, an open
/// that must make it itself finds it there.
inline int lay_out(int directory, const char* path, int flags, mode_t mode) noexcept {
    if (lays_out && flags & O_CREAT && make_laid_out(directory, path, mode)) [[unlikely]]
        return flags & ~O_EXCL;
    return flags;
}

}  // namespace mpiric::layouts

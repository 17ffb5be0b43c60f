// Layouts of files that are made: on Lustre a layout must be there before the first byte is.
#pragma once

#include "layouts/refused_layouts.hpp"
#include "symbols/next.hpp"

#include <atomic>
#include <fcntl.h>
#include <sys/types.h>

namespace mpiric::layouts {

struct State {
    bool lays_out = false;          ///< true from MPI_Init to MPI_Finalize
    std::atomic<unsigned> made{0};  ///< files under a name of ours
    RefusedLayouts refused;
    symbols::NextFunction unhinted;  ///< function that our MPI_File_open calls
};
inline constinit State state;

/// Makes the file that an open is about to create, with the layout of its rule; false where it was not made:
/// whatever fails leaves the open as it would have been.
bool make_laid_out(int directory, const char* path, mode_t mode) noexcept;

/// The same where `flags` of open(2) create. The flags to go on with: of a file that was made here, an open
/// that must make it itself finds it there.
inline int lay_out(int directory, const char* path, int flags, mode_t mode) noexcept {
    if (state.lays_out && flags & O_CREAT && make_laid_out(directory, path, mode)) [[unlikely]]
        return flags & ~O_EXCL;
    return flags;
}

}  // namespace mpiric::layouts

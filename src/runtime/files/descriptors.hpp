// Accesses by file descriptor, counted for the file it is open on.
#pragma once

#include "profile/format.hpp"

#include <cstdint>
#include <sys/types.h>

namespace mpiric::files {

/// One access to a file.
struct Access {
    int64_t bytes = 0;    ///< moved; negative: it failed
    int64_t offset = -1;  ///< position of the access; -1: the descriptor's own position
    uint64_t ticks = 0;
    bool buffered = false;   ///< through stdio, whose buffer joins small accesses
    bool ends_line = false;  ///< the written data end with a newline
};

/// `flags`: flags of open(2).
void descriptor_opened(int descriptor, const char* path, int flags, uint64_t ticks) noexcept;
void descriptor_closed(int descriptor, uint64_t ticks) noexcept;
void descriptor_read(int descriptor, const Access& access) noexcept;
void descriptor_wrote(int descriptor, const Access& access) noexcept;
void descriptor_moved(int descriptor, int64_t offset) noexcept;
void descriptor_synced(int descriptor, uint64_t ticks) noexcept;
void descriptor_locked(int descriptor, uint64_t ticks) noexcept;
void descriptor_flushed(int descriptor, uint64_t ticks) noexcept;
/// A call that moves no data: fstat.
void descriptor_asked(int descriptor, uint64_t ticks) noexcept;

/// A call on a path that moves no data: stat, unlink, …
void path_asked(uint64_t ticks) noexcept;

}  // namespace mpiric::files

// Small writes to a file that this process has open once, for writing only, joined into large ones.
#pragma once

#include <cstddef>
#include <cstdio>
#include <sys/types.h>

namespace mpiric::deferred {

/// Files opened from here on may hold up to `bytes` each. Takes note of the regular files that are open
/// already.
void begin_write_behind(size_t bytes) noexcept;

/// How a descriptor was opened.
struct Opening {
    int flags = 0;  ///< flags of open(2)
    /// Stream on the descriptor, if any: C++ and others write past it to the descriptor.
    const FILE* stream = nullptr;
};
/// Whether the file is not a regular one, or this process has opened it before: then it is to behave as in
/// the plain run.
bool note_opened(int descriptor, const Opening& opening) noexcept;
/// A descriptor is about to be closed, or to become another file: writes out what it holds. False, with
/// errno, when that failed; the bytes are lost then.
bool note_closing(int descriptor) noexcept;
/// Descriptors may be closed by a call that tells none of them: nothing is held on those open now any more.
void forget_descriptors() noexcept;
/// The descriptor is used in other ways than by write(2) from here on: nothing is held on it any more.
bool stop_holding(int descriptor) noexcept;
/// The same for all that are open now: a child is about to share them.
void stop_holding_all() noexcept;

/// Writes out what a descriptor holds; false, with errno, where that fails: the bytes stay.
bool write_out(int descriptor) noexcept;
/// Writes out what all descriptors hold, under the lock of Holding; failures are met again by the next call
/// on the file.
void write_out_files() noexcept;

/// Called before stdio writes to a stream: bytes held for descriptors whose streams stdio is writing are
/// written first.
void write_out_before_streams() noexcept;

/// Takes a write of the program's: as write(2) returns.
ssize_t write_behind(int descriptor, const void* from, size_t bytes) noexcept;
bool may_hold(int descriptor) noexcept;

}  // namespace mpiric::deferred

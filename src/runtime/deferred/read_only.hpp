// Files that a program opens to read and write, and only reads: opened to read, until it does more.
#pragma once

namespace mpiric::deferred {

/// From here on, files whose names fit one of the patterns.
void open_read_only(const char* patterns) noexcept;

/// Whether an open for both is to be one for reading, the program being allowed both.
bool may_read_only(int directory, const char* path, int flags) noexcept;

/// A descriptor has been opened, or copied: `reads`: for reading, where the program has asked for both.
void note_read_only(int descriptor, bool reads) noexcept;
bool is_read_only(int descriptor) noexcept;

/// The program is about to do more with a descriptor than to read: it becomes what was asked for. False, with
/// errno, where the file cannot be opened so any more.
bool allow_writing(int descriptor) noexcept;
/// The same for all: a call that tells none of them, or a child, may write.
void allow_all_writing() noexcept;

}  // namespace mpiric::deferred

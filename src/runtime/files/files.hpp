// Files that are open through MPI-IO, and their rows in the record.
#pragma once

#include "base/handle_bag.hpp"
#include "profile/format.hpp"
#include "world/datatypes.hpp"
#include <atomic>
#include <cstdint>
#include <sys/types.h>

namespace mpiric::files {

/// An open of a file by several processes.
struct SharedOpen {
    const char* path;
    uint32_t processes;
    int mode;       ///< MPI_MODE_…
    bool is_first;  ///< whether this rank is the communicator's first, who creates what is not there
    uint64_t ticks;
};

/// A completed access, or one in progress that has moved the file pointer already.
struct SharedAccess {
    bool is_write;
    uint64_t bytes;
    uint64_t ticks;
    world::FilePlace place;
};

void file_opened(MPI_File file, const SharedOpen& open) noexcept;
void view_changed(MPI_File file, MPI_Datatype elementary) noexcept;
void file_accessed(MPI_File file, const SharedAccess& access) noexcept;
void forget_file(MPI_File file) noexcept;

/// While recording, rank 0 of the file's communicator writes the hints in force into `hints.<world rank>` of
/// the record's directory: a line `file PATH`, then `KEY VALUE` each; of the first files it opens only.
void note_hints(MPI_File file, const char* path, MPI_Comm comm) noexcept;

// Accesses by file descriptor, counted for the file it is open on.

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

// State: the files that the program has open, with the pattern of their accesses.

inline constexpr int descriptor_count = 4096;  // descriptors above are not followed

/// One access, by bytes of the file. `end - begin` is more than `bytes` where it leaves some out.
struct Located {
    int64_t begin = 0, end = 0;
    uint64_t bytes = 0;
};

/// The latest accesses through one open of a file.
class Trail {
  public:
    /// Counts an access by its size alone.
    static void count_size(profile::File& row, uint64_t bytes) noexcept;
    /// Counts an access by its size and place. The recorder is locked.
    void count(profile::File& row, const Located& access) noexcept;
    /// Goes past an access that is counted elsewhere.
    void pass(int64_t begin, int64_t end) noexcept {
        last_begin_ = begin;
        last_end_ = end;
    }

  private:
    int64_t last_begin_ = 0;
    int64_t last_end_ = -1;     ///< -1: there was none
    int64_t step_ = INT64_MIN;  ///< distance between the beginnings of the last two accesses
};

struct Descriptor {
    profile::File* row = nullptr;
    int64_t position = 0;  ///< position of the next access at the descriptor's own position
    Trail trail;
};

/// A file that is open through MPI-IO.
struct OpenFile {
    profile::File* row = nullptr;
    int64_t elementary_bytes = 1;  ///< size of the view's elementary type
    Trail trail;
};

struct State {
    Descriptor descriptors[descriptor_count];
    HandleMap<OpenFile> open_files;
    std::atomic<int> hints_noted{0};  ///< files whose hints were written
};
inline constinit State state;

}  // namespace mpiric::files

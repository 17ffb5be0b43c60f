// State of the files that the program has open, for the record, with the pattern of their accesses: position
// relative to the previous access and to blocks of the file.
#pragma once

#include "base/handle_map.hpp"
#include "profile/format.hpp"

#include <atomic>
#include <cstdint>

namespace mpiric::files {

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
    HandleMap<OpenFile, 256> open_files;
    std::atomic<int> hints_noted{0};  ///< files whose hints were written
};
inline constinit State state;

}  // namespace mpiric::files

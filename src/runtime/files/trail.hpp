// Pattern of the accesses to an open file: position relative to the previous access and to blocks of the
// file.
#pragma once

#include "profile/format.hpp"

#include <cstdint>

namespace mpiric::files {

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

}  // namespace mpiric::files

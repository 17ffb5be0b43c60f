// A path of the program's as a call of libc's is to have it: where the file is, or is to be made.
#pragma once

#include "spread/place.hpp"

#include <cstdint>

namespace mpiric::spread {

/// From here on files are spread by these rules, which stay where they are.
void spread_by(const char* rules) noexcept;

class Found {
  public:
    enum class Use : uint8_t { finds, makes };

    /// `path` as openat(2) takes it. A file that lies in its own place already is found there, and one that a
    /// link stands for.
    Found(int directory, const char* path, Use use = Use::finds) noexcept;
    const char* path() const noexcept { return spread_ ? place_.spread() : place_.own(); }

    /// Makes the subdirectory, for a call that has failed without it; where it cannot be made, the file's own
    /// path is found from here on. Whether the call is worth another try.
    bool make_room() noexcept;

  private:
    int directory_;
    Place place_;
    bool spread_ = false;
};

}  // namespace mpiric::spread

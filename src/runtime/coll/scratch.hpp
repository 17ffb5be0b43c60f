// Memory for the time of a call, from a block that each thread keeps.
#pragma once

#include <cstddef>

namespace mpiric::coll {

/// A piece of scratch memory, aligned to a cache line. Pieces end in the reverse order of their beginning.
class Scratch {
  public:
    explicit Scratch(size_t bytes) noexcept;
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    /// Null when memory is short.
    char* data() const noexcept { return data_; }

  private:
    char* data_;
    size_t bytes_;
    bool own_ = false;
};

}  // namespace mpiric::coll

// Memory that the processes of one node share, made without the MPI library's windows: those bring one-sided
// transports up, which may print, fail or wait.
//
// It is a file without a name (memfd_create), which the others open through /proc: nothing of it remains
// however the program ends, and the size of /dev/shm does not matter.
#pragma once

#include "world/library.hpp"

#include <cstddef>

namespace mpiric::coll {

class SharedMemory {
  public:
    SharedMemory() = default;
    ~SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    /// Collective over `node`: zeroed memory with `part_bytes` for each rank, one part after another, each
    /// near its rank. True on all ranks or on none: not when one is `able` no more, or cannot see the process
    /// of rank 0 (another container, another user), or has no room.
    bool map(MPI_Comm node, size_t part_bytes, bool able = true) noexcept;

    /// Aligned to a page; only after map() said true.
    char* data() const noexcept { return data_; }

  private:
    char* data_ = nullptr;
    size_t bytes_ = 0;
};

}  // namespace mpiric::coll

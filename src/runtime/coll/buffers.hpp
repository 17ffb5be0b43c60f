// The program's buffers as plain bytes: as they are where they have no gaps, through scratch memory
// elsewhere.
#pragma once

#include "coll/datatype.hpp"
#include "coll/message.hpp"
#include "coll/scratch.hpp"

namespace mpiric::coll {

/// Elements to read, as bytes in the order of MPI_Pack.
class Source {
  public:
    Source(const Team& team, const void* from, MPI_Count count, MPI_Datatype type) noexcept;

    const char* data() const noexcept { return data_; }
    int error() const noexcept { return error_; }

  private:
    Scratch packed_;
    const char* data_;
    int error_ = MPI_SUCCESS;
};

/// Elements to write; `store` puts into place what was written to data().
class Target {
  public:
    Target(const Team& team, void* into, MPI_Count count, MPI_Datatype type) noexcept;

    char* data() noexcept { return data_; }
    /// Fills data() with what is in the program's buffer.
    int load() noexcept;
    int store() noexcept;
    int error() const noexcept { return data_ ? MPI_SUCCESS : MPI_ERR_NO_MEM; }

  private:
    const Team& team_;
    void* into_;
    MPI_Count count_;
    MPI_Datatype type_;
    uint64_t bytes_;
    bool dense_;
    Scratch packed_;
    char* data_;
};

}  // namespace mpiric::coll

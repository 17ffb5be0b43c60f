// The program's buffers as plain bytes: as they are if dense, else through scratch memory.
#pragma once

#include "coll/datatype.hpp"
#include "coll/message.hpp"
#include <cstddef>

namespace mpiric::coll {

// Memory for the time of a call, from a block that each thread keeps.

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

/// Elements to bytes and back, in the order of MPI_Pack. At most as many bytes as scratch memory may have.
int pack(const Team& team, const void* from, MPI_Count count, MPI_Datatype type, char* into) noexcept;
int unpack(const Team& team, const char* from, void* into, MPI_Count count, MPI_Datatype type) noexcept;

/// This rank's block for a gather or allgather; with MPI_IN_PLACE from where it belongs.
int pack_own(const Arguments& call, char* into) noexcept;

/// Elements to read.
class Source {
  public:
    Source(const Team& team, const void* from, MPI_Count count, MPI_Datatype type) noexcept;

    const char* data() const noexcept { return data_; }
    uint64_t bytes() const noexcept { return bytes_; }
    int error() const noexcept { return error_; }

  private:
    uint64_t bytes_;
    bool dense_;
    Scratch packed_;
    const char* data_;
    int error_ = MPI_SUCCESS;
};

/// Elements to write; `store` puts into place what was written to data().
class Target {
  public:
    Target(const Team& team, void* into, MPI_Count count, MPI_Datatype type) noexcept;

    char* data() const noexcept { return data_; }
    uint64_t bytes() const noexcept { return bytes_; }
    /// Fills data() with the contents of the program's buffer.
    int load() noexcept { return dense_ ? MPI_SUCCESS : pack(team_, into_, count_, type_, data_); }
    int store() noexcept { return dense_ ? MPI_SUCCESS : unpack(team_, data_, into_, count_, type_); }
    int error() const noexcept { return dense_ || data_ ? MPI_SUCCESS : MPI_ERR_NO_MEM; }

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

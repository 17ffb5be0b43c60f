#include "coll/buffers.hpp"

namespace mpiric::coll {
namespace {

uint64_t bytes_of(MPI_Count count, MPI_Datatype type) noexcept {
    return uint64_t(count) * world::size_of(type);
}

bool is_dense(MPI_Datatype type) noexcept { return geometry_of(type).dense(); }

int pack(const Team& team, const void* from, MPI_Count count, MPI_Datatype type, char* to,
         uint64_t bytes) noexcept {
    int place = 0;
    return world::library.Pack(from, int(count), type, to, int(bytes), &place, team.comm());
}

}  // namespace

Source::Source(const Team& team, const void* from, MPI_Count count, MPI_Datatype type) noexcept
    : packed_(is_dense(type) ? 0 : bytes_of(count, type)), data_(static_cast<const char*>(from)) {
    if (is_dense(type))
        return;
    data_ = packed_.data();
    error_ = data_ ? pack(team, from, count, type, packed_.data(), bytes_of(count, type)) : MPI_ERR_NO_MEM;
}

Target::Target(const Team& team, void* into, MPI_Count count, MPI_Datatype type) noexcept
    : team_(team), into_(into), count_(count), type_(type), bytes_(bytes_of(count, type)),
      dense_(is_dense(type)), packed_(dense_ ? 0 : bytes_),
      data_(dense_ ? static_cast<char*>(into) : packed_.data()) {}

int Target::load() noexcept {
    return dense_ ? MPI_SUCCESS : pack(team_, into_, count_, type_, data_, bytes_);
}

int Target::store() noexcept {
    if (dense_)
        return MPI_SUCCESS;
    int place = 0;
    return world::library.Unpack(data_, int(bytes_), &place, into_, int(count_), type_, team_.comm());
}

}  // namespace mpiric::coll

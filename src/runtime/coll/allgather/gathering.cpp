// The row of bytes that allgather algorithms work on: the program's buffer itself where it has no gaps.
#include "coll/allgather/stages.hpp"

namespace mpiric::coll {
namespace {

bool is_row(const Arguments& call, const Geometry& type, const Blocks& blocks) noexcept {
    if (!type.dense())
        return false;
    if (call.receive_counts)
        for (int rank = 0; rank < call.team.size(); ++rank)
            if (call.receive_counts[rank] != 0 &&
                uint64_t(call.receive_displacements[rank]) * type.size != blocks.begin(rank))
                return false;
    return true;
}

}  // namespace

Gathering::Gathering(const Arguments& call)
    : call_(call), type_(geometry_of(call.receive_type)), displacements_(received_by(call)),
      blocks_(call.receive_counts ? Blocks::of(call.receive_counts, call.team.size(), type_.size)
                                  : Blocks::equal(uint64_t(call.receive_count) * type_.size)),
      direct_(is_row(call, type_, blocks_)), whole_(direct_ ? 0 : blocks_.begin(call.team.size())),
      data_(direct_ ? static_cast<char*>(call.receive) : whole_.data()) {}

int Gathering::begin() noexcept {
    const int me = call_.team.rank();
    if (!data_)
        return blocks_.begin(call_.team.size()) ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    return pack_own(call_, data_ + blocks_.begin(me));
}

int Gathering::end() noexcept {
    if (direct_)
        return MPI_SUCCESS;
    for (int rank = 0; rank < call_.team.size(); ++rank)
        MPIRIC_TRY(unpack(call_.team, data_ + blocks_.begin(rank), displacements_.at(rank),
                          displacements_.count(rank), displacements_.type()));
    return MPI_SUCCESS;
}

}  // namespace mpiric::coll

// Messages of algorithms: the library's own point-to-point functions, waited for without blocking a core.
#include "coll/message.hpp"

#include "coll/datatype.hpp"
#include "world/patience.hpp"

#include <climits>
#include <cstring>

namespace mpiric::coll {
namespace {

using world::complete;
using world::library;

/// Count and datatype as the plain functions take them: beyond INT_MAX elements, one element of a larger type
/// (Hammond et al., "To INT_MAX… and beyond!", ExaMPI 2014).
class Sized {
  public:
    Sized(MPI_Count count, MPI_Datatype type) noexcept : count_(int(count)), type_(type) {
        if (count > INT_MAX) [[unlikely]]
            enlarge(count);
    }
    ~Sized() {
        if (made_)
            library.Type_free(&type_);
    }
    Sized(const Sized&) = delete;
    Sized& operator=(const Sized&) = delete;

    int count() const noexcept { return count_; }
    MPI_Datatype type() const noexcept { return type_; }
    int error() const noexcept { return error_; }

  private:
    void enlarge(MPI_Count count) noexcept {
        constexpr int block = 1 << 30;
        const int rest = int(count % block);
        MPI_Datatype parts[2] = {type_, type_};
        MPI_Aint lower = 0, extent = 0;
        int lengths[2] = {1, rest};
        MPI_Datatype many = type_;
        if (library.Type_get_extent(type_, &lower, &extent) != MPI_SUCCESS ||
            library.Type_contiguous(block, type_, &many) != MPI_SUCCESS ||
            library.Type_contiguous(int(count / block), many, &parts[0]) != MPI_SUCCESS) {
            error_ = MPI_ERR_COUNT;
            return;
        }
        const MPI_Aint places[2] = {0, extent * MPI_Aint(count - rest)};
        error_ = library.Type_create_struct(2, lengths, places, parts, &type_);
        library.Type_free(&many);
        library.Type_free(&parts[0]);
        if (error_ == MPI_SUCCESS) {
            made_ = true;
            error_ = library.Type_commit(&type_);
        }
        count_ = 1;
    }

    int count_;
    MPI_Datatype type_;
    int error_ = MPI_SUCCESS;
    bool made_ = false;
};

int start_send(const Team& team, const void* from, MPI_Count count, MPI_Datatype type, int to,
               MPI_Request& request, int stream = 0) noexcept {
    const Sized out{count, type};
    MPIRIC_TRY(out.error());
    return library.Isend(from, out.count(), out.type(), to, tag + stream, team.comm(), &request);
}

int start_receive(const Team& team, void* into, MPI_Count count, MPI_Datatype type, int from,
                  MPI_Request& request, int stream = 0) noexcept {
    const Sized in{count, type};
    MPIRIC_TRY(in.error());
    return library.Irecv(into, in.count(), in.type(), from, tag + stream, team.comm(), &request);
}

}  // namespace

int send(const Team& team, const void* from, MPI_Count count, MPI_Datatype type, int to) noexcept {
    MPI_Request request;
    MPIRIC_TRY(start_send(team, from, count, type, to, request));
    return complete({&request, 1});
}

int receive(const Team& team, void* into, MPI_Count count, MPI_Datatype type, int from) noexcept {
    MPI_Request request;
    MPIRIC_TRY(start_receive(team, into, count, type, from, request));
    return complete({&request, 1});
}

int swap(const Team& team, void* there, MPI_Count count, MPI_Datatype type, int with) noexcept {
    const Sized both{count, type};
    MPIRIC_TRY(both.error());
    return library.Sendrecv_replace(there, both.count(), both.type(), with, tag, with, tag, team.comm(),
                                    MPI_STATUS_IGNORE);
}

int exchange(const Team& team, const void* out, MPI_Count out_count, MPI_Datatype out_type, int to, void* in,
             MPI_Count in_count, MPI_Datatype in_type, int from) noexcept {
    if (to == nobody)
        return from == nobody ? MPI_SUCCESS : receive(team, in, in_count, in_type, from);
    if (from == nobody)
        return send(team, out, out_count, out_type, to);
    MPI_Request both[2];
    MPIRIC_TRY(start_receive(team, in, in_count, in_type, from, both[0]));
    if (const int code = start_send(team, out, out_count, out_type, to, both[1]); code != MPI_SUCCESS) {
        complete({both, 1});
        return code;
    }
    return complete(both);
}

int start_receive(const Team& team, char* into, uint64_t bytes, int from, MPI_Request& request,
                  int stream) noexcept {
    return start_receive(team, into, MPI_Count(bytes), world::handles.byte, from, request, stream);
}

int either(MPI_Request& first, MPI_Request& other, size_t& which) noexcept {
    MPI_Request both[2] = {first, other};
    int index = 0;
    const int code = world::wait_until(
        [&](int* flag) { return library.Testany(2, both, &index, flag, MPI_STATUS_IGNORE); });
    first = both[0], other = both[1];
    which = size_t(index);
    return code;
}

int Requests::send_on(int stream, const Team& team, const void* from, MPI_Count count, MPI_Datatype type,
                      int to) noexcept {
    MPI_Request request;
    MPIRIC_TRY(start_send(team, from, count, type, to, request, stream));
    under_way_.push_back(request);
    return MPI_SUCCESS;
}

int Requests::receive(const Team& team, void* into, MPI_Count count, MPI_Datatype type, int from) noexcept {
    MPI_Request request;
    MPIRIC_TRY(start_receive(team, into, count, type, from, request));
    under_way_.push_back(request);
    return MPI_SUCCESS;
}

int Requests::wait() noexcept {
    if (under_way_.empty())
        return MPI_SUCCESS;
    const int code = complete(under_way_);
    under_way_.clear();
    return code;
}

int copy(const Team& team, const void* from, MPI_Count from_count, MPI_Datatype from_type, void* to,
         MPI_Count to_count, MPI_Datatype to_type) noexcept {
    const Geometry source = geometry_of(from_type), target = geometry_of(to_type);
    if (source.dense() && target.dense()) {
        if (const uint64_t bytes = source.size * uint64_t(from_count); bytes && from != to)
            std::memcpy(to, from, bytes);
        return MPI_SUCCESS;
    }
    return exchange(team, from, from_count, from_type, team.rank(), to, to_count, to_type, team.rank());
}

}  // namespace mpiric::coll

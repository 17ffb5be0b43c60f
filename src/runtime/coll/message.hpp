// Messages of algorithms, on the team's own communicator.
#pragma once

#include "coll/team.hpp"

#include <vector>

namespace mpiric::coll {

/// Returns early with the error code of a step that failed.
#define MPIRIC_TRY(step)                                                                                     \
    if (const int code = (step); code != MPI_SUCCESS) [[unlikely]]                                           \
    return code

inline constexpr int tag = 0;      ///< tag of the first stream; messages of one stream keep their order
inline constexpr int nobody = -1;  ///< peer to which no message goes

int send(const Team& team, const void* from, MPI_Count count, MPI_Datatype type, int to) noexcept;
int receive(const Team& team, void* into, MPI_Count count, MPI_Datatype type, int from) noexcept;

inline int send(const Team& team, const char* from, uint64_t bytes, int to) noexcept {
    return send(team, from, MPI_Count(bytes), world::handles.byte, to);
}
inline int receive(const Team& team, char* into, uint64_t bytes, int from) noexcept {
    return receive(team, into, MPI_Count(bytes), world::handles.byte, from);
}

/// Both at once, each possibly to nobody.
int exchange(const Team& team, const void* out, MPI_Count out_count, MPI_Datatype out_type, int to, void* in,
             MPI_Count in_count, MPI_Datatype in_type, int from) noexcept;

/// Begins to receive bytes of a stream.
int start_receive(const Team& team, char* into, uint64_t bytes, int from, MPI_Request& request,
                  int stream) noexcept;
/// Waits until one of two has come: which, 0 or 1.
int either(MPI_Request& first, MPI_Request& second, size_t& which) noexcept;

/// Each gets what the other has there.
int swap(const Team& team, void* there, MPI_Count count, MPI_Datatype type, int with) noexcept;

inline int exchange(const Team& team, const char* out, uint64_t out_bytes, int to, char* in,
                    uint64_t in_bytes, int from) noexcept {
    return exchange(team, out, MPI_Count(out_bytes), world::handles.byte, to, in, MPI_Count(in_bytes),
                    world::handles.byte, from);
}

/// Messages under way. The destructor waits for unfinished messages.
class Requests {
  public:
    explicit Requests(size_t most) { under_way_.reserve(most); }
    ~Requests() { wait(); }
    Requests(const Requests&) = delete;
    Requests& operator=(const Requests&) = delete;

    int send(const Team& team, const void* from, MPI_Count count, MPI_Datatype type, int to) noexcept {
        return send_on(0, team, from, count, type, to);
    }
    int send_on(int stream, const Team& team, const void* from, MPI_Count count, MPI_Datatype type,
                int to) noexcept;
    int receive(const Team& team, void* into, MPI_Count count, MPI_Datatype type, int from) noexcept;
    int send(const Team& team, const char* from, uint64_t bytes, int to) noexcept {
        return send(team, from, MPI_Count(bytes), world::handles.byte, to);
    }
    int receive(const Team& team, char* into, uint64_t bytes, int from) noexcept {
        return receive(team, into, MPI_Count(bytes), world::handles.byte, from);
    }
    int wait() noexcept;

  private:
    std::vector<MPI_Request> under_way_;
};

/// Between buffers of this rank; any datatypes of the same signature.
int copy(const Team& team, const void* from, MPI_Count from_count, MPI_Datatype from_type, void* to,
         MPI_Count to_count, MPI_Datatype to_type) noexcept;

}  // namespace mpiric::coll

// Shadow communicators, and collectives made of messages on them.
#include "world/agreement.hpp"

#include "base/clock.hpp"
#include "world/patience.hpp"

#include <algorithm>
#include <array>
#include <atomic>

namespace mpiric::world {
namespace {

constexpr int tag = 2;
constexpr size_t most_values = 64;
constexpr size_t chunk_bytes = 64u << 20;  // a count of bytes is an int
constexpr uint64_t late_ns = 10'000'000'000;
constexpr int most_shadow_comms =
    512;  // MPICH has room for some 2000 communicators, and the program comes first

constinit std::atomic<int> shadow_comms{0};

/// One round of dissemination: sends to the rank `step` above, receives from the one `step` below.
template <class Wait>
bool exchange(const ShadowComm& shadow, int step, const void* send, void* receive, int bytes, Wait&& wait) {
    const int to = (shadow.rank + step) % shadow.size;
    const int from = (shadow.rank - step + shadow.size) % shadow.size;
    MPI_Request requests[2];
    return library.Irecv(receive, bytes, handles.byte, from, tag, shadow.comm, &requests[0]) == MPI_SUCCESS &&
           library.Isend(send, bytes, handles.byte, to, tag, shadow.comm, &requests[1]) == MPI_SUCCESS &&
           wait(requests) == MPI_SUCCESS;
}

}  // namespace

bool rendezvous(MPI_Comm of, void (*late)()) noexcept {
    const ShadowComm shadow = with_rank(of);
    const uint64_t begin = now_ns();
    const auto wait = [&](MPI_Request(&requests)[2]) {
        return wait_until([&](int* flag) {
            if (now_ns() - begin >= late_ns)
                late();
            return library.Testall(2, requests, flag, MPI_STATUSES_IGNORE);
        });
    };
    for (int step = 1; step < shadow.size; step *= 2)
        if (!exchange(shadow, step, nullptr, nullptr, 0, wait))
            return false;
    return true;
}

bool make_shadow_comm(MPI_Comm of, ShadowComm& shadow) noexcept {
    const ShadowComm given = with_rank(of);
    const int color = shadow_comms < most_shadow_comms ? 0 : MPI_UNDEFINED;
    shadow.comm = handles.comm_null;
    if (library.Comm_split(of, color, given.rank, &shadow.comm) != MPI_SUCCESS ||
        shadow.comm == handles.comm_null)
        return false;
    ++shadow_comms;
    library.Comm_set_errhandler(shadow.comm, handles.errors_return);
    shadow = with_rank(shadow.comm);
    if (shadow.size == given.size)
        return true;
    free_shadow_comm(shadow);  // some rank has no room left
    return false;
}

bool make_shadow_comm_quietly(MPI_Comm of_program, ShadowComm& shadow) noexcept {
    MPI_Errhandler handler{};
    library.Comm_get_errhandler(of_program, &handler);
    library.Comm_set_errhandler(of_program, handles.errors_return);
    const bool made = make_shadow_comm(of_program, shadow);
    library.Comm_set_errhandler(of_program, handler);
    library.Errhandler_free(&handler);
    return made;
}

void free_shadow_comm(ShadowComm& shadow) noexcept {
    if (shadow.size == 0)
        return;
    library.Comm_free(&shadow.comm);
    --shadow_comms;
    shadow = {};
}

bool allreduce_max(const ShadowComm& shadow, std::span<uint64_t> values) noexcept {
    while (values.size() > most_values) {
        if (!allreduce_max(shadow, values.first(most_values)))
            return false;
        values = values.subspan(most_values);
    }
    std::array<uint64_t, most_values> received;
    const int bytes = int(values.size_bytes());
    for (int step = 1; step < shadow.size; step *= 2) {
        if (!exchange(shadow, step, values.data(), received.data(), bytes,
                      [](std::span<MPI_Request> requests) { return complete(requests); }))
            return false;
        for (size_t at = 0; at < values.size(); ++at)
            values[at] = std::max(values[at], received[at]);
    }
    return true;
}

bool broadcast(const ShadowComm& shadow, void* bytes, size_t count) noexcept {
    int step = 1;
    while (step < shadow.size && (shadow.rank & step) == 0)
        step *= 2;
    for (size_t done = 0; done < count; done += chunk_bytes) {
        char* at = static_cast<char*>(bytes) + done;
        const int part = int(std::min(count - done, chunk_bytes));
        if (shadow.rank != 0 && library.Recv(at, part, handles.byte, shadow.rank - step, tag, shadow.comm,
                                             MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return false;
        for (int child = step / 2; child > 0; child /= 2)
            if (shadow.rank + child < shadow.size &&
                library.Send(at, part, handles.byte, shadow.rank + child, tag, shadow.comm) != MPI_SUCCESS)
                return false;
    }
    return true;
}

bool gather(const ShadowComm& shadow, std::string_view own, std::vector<std::string>& of_ranks) {
    uint64_t bytes = own.size();
    if (shadow.rank != 0)
        return library.Send(&bytes, sizeof bytes, handles.byte, 0, tag, shadow.comm) == MPI_SUCCESS &&
               (own.empty() ||
                library.Send(own.data(), int(bytes), handles.byte, 0, tag, shadow.comm) == MPI_SUCCESS);
    of_ranks.assign(1, std::string(own));
    for (int from = 1; from < shadow.size; ++from) {
        if (library.Recv(&bytes, sizeof bytes, handles.byte, from, tag, shadow.comm, MPI_STATUS_IGNORE) !=
            MPI_SUCCESS)
            return false;
        std::string& received = of_ranks.emplace_back(bytes, '\0');
        if (bytes > 0 && library.Recv(received.data(), int(bytes), handles.byte, from, tag, shadow.comm,
                                      MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return false;
    }
    return true;
}

std::vector<uint32_t> node_leaders(const ShadowComm& shadow) {
    std::vector<uint32_t> leaders(static_cast<size_t>(shadow.size));
    auto leader = uint32_t(shadow.rank);
    MPI_Comm node{};
    if (library.Comm_split_type(shadow.comm, MPI_COMM_TYPE_SHARED, shadow.rank, handles.info_null, &node) !=
        MPI_SUCCESS)
        return {};
    const bool gathered = library.Bcast(&leader, sizeof leader, handles.byte, 0, node) == MPI_SUCCESS &&
                          library.Allgather(&leader, sizeof leader, handles.byte, leaders.data(),
                                            sizeof leader, handles.byte, shadow.comm) == MPI_SUCCESS;
    library.Comm_free(&node);
    return gathered ? leaders : std::vector<uint32_t>();
}

}  // namespace mpiric::world

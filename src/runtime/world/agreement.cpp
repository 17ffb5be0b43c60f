#include "world/agreement.hpp"

#include "world/patience.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <ctime>

namespace mpiric::world {
namespace {

constexpr int tag = 2;
constexpr size_t most_values = 64;
constexpr size_t chunk_bytes = 64u << 20;  // a count of bytes is an int
constexpr time_t late_seconds = 10;
constexpr int most_circles = 512;  // MPICH has room for some 2000 communicators, and the program comes first

constinit std::atomic<int> circles{0};

/// A step of dissemination: to the rank so far above, from the one so far below.
template <class Wait>
bool exchange(const Circle& circle, int step, const void* mine, void* theirs, int bytes, Wait&& wait) {
    const int to = (circle.rank + step) % circle.size;
    const int from = (circle.rank - step + circle.size) % circle.size;
    MPI_Request both[2];
    return library.Irecv(theirs, bytes, handles.byte, from, tag, circle.comm, &both[0]) == MPI_SUCCESS &&
           library.Isend(mine, bytes, handles.byte, to, tag, circle.comm, &both[1]) == MPI_SUCCESS &&
           wait(both) == MPI_SUCCESS;
}

time_t seconds_now() noexcept {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

}  // namespace

bool find_all(MPI_Comm of, void (*late)()) noexcept {
    Circle circle{of};
    library.Comm_rank(of, &circle.rank);
    library.Comm_size(of, &circle.size);
    const time_t begin = seconds_now();
    const auto wait = [&](MPI_Request(&both)[2]) {
        return wait_until([&](int* flag) {
            if (seconds_now() - begin >= late_seconds)
                late();
            return library.Testall(2, both, flag, MPI_STATUSES_IGNORE);
        });
    };
    for (int step = 1; step < circle.size; step *= 2)
        if (!exchange(circle, step, nullptr, nullptr, 0, wait))
            return false;
    return true;
}

bool make_circle(MPI_Comm of, Circle& circle) noexcept {
    int rank = 0, size = 0;
    library.Comm_rank(of, &rank);
    library.Comm_size(of, &size);
    const int color = circles < most_circles ? 0 : MPI_UNDEFINED;
    circle.comm = handles.comm_null;
    if (library.Comm_split(of, color, rank, &circle.comm) != MPI_SUCCESS || circle.comm == handles.comm_null)
        return false;
    ++circles;
    library.Comm_set_errhandler(circle.comm, handles.errors_return);
    library.Comm_rank(circle.comm, &circle.rank);
    library.Comm_size(circle.comm, &circle.size);
    if (circle.size == size)
        return true;
    free_circle(circle);  // some rank has no room left
    return false;
}

bool make_circle_beside(MPI_Comm of_program, Circle& circle) noexcept {
    MPI_Errhandler handler{};
    library.Comm_get_errhandler(of_program, &handler);
    library.Comm_set_errhandler(of_program, handles.errors_return);
    const bool made = make_circle(of_program, circle);
    library.Comm_set_errhandler(of_program, handler);
    library.Errhandler_free(&handler);
    return made;
}

void free_circle(Circle& circle) noexcept {
    if (circle.size == 0)
        return;
    library.Comm_free(&circle.comm);
    --circles;
    circle = {};
}

bool agree_on_largest(const Circle& circle, std::span<uint64_t> values) noexcept {
    while (values.size() > most_values) {
        if (!agree_on_largest(circle, values.first(most_values)))
            return false;
        values = values.subspan(most_values);
    }
    std::array<uint64_t, most_values> theirs;
    const int bytes = int(values.size_bytes());
    for (int step = 1; step < circle.size; step *= 2) {
        if (!exchange(circle, step, values.data(), theirs.data(), bytes,
                      [](std::span<MPI_Request> both) { return complete(both); }))
            return false;
        for (size_t at = 0; at < values.size(); ++at)
            values[at] = std::max(values[at], theirs[at]);
    }
    return true;
}

bool hand_out(const Circle& circle, void* bytes, size_t count) noexcept {
    int step = 1;
    while (step < circle.size && (circle.rank & step) == 0)
        step *= 2;
    for (size_t done = 0; done < count; done += chunk_bytes) {
        char* at = static_cast<char*>(bytes) + done;
        const int part = int(std::min(count - done, chunk_bytes));
        if (circle.rank != 0 && library.Recv(at, part, handles.byte, circle.rank - step, tag, circle.comm,
                                             MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return false;
        for (int child = step / 2; child > 0; child /= 2)
            if (circle.rank + child < circle.size &&
                library.Send(at, part, handles.byte, circle.rank + child, tag, circle.comm) != MPI_SUCCESS)
                return false;
    }
    return true;
}

}  // namespace mpiric::world

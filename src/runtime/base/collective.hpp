// The collective functions of MPI that somebody may choose an algorithm for, in their three forms.
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>

// clang-format off
#define MPIRIC_COLLECTIVES(X) \
    X(allreduce) X(bcast) X(reduce) X(barrier) X(allgather) X(allgatherv) X(alltoall) X(alltoallv) X(alltoallw) X(gather) \
    X(gatherv) X(scatter) X(scatterv) X(reduce_scatter) X(reduce_scatter_block) X(scan) X(exscan)
// clang-format on
#define MPIRIC_BLOCKING(name) name,
#define MPIRIC_NONBLOCKING(name) i##name,
#define MPIRIC_PERSISTENT(name) name##_init,
#define MPIRIC_BLOCKING_NAME(name) #name,
#define MPIRIC_NONBLOCKING_NAME(name) std::string_view("i" #name),
#define MPIRIC_PERSISTENT_NAME(name) std::string_view(#name "_init"),

namespace mpiric {

/// Named like the functions, in lower case and without `MPI_`: first the blocking form of each, then the
/// nonblocking one of each, then the persistent one.
enum class Collective : uint8_t {
    MPIRIC_COLLECTIVES(MPIRIC_BLOCKING) MPIRIC_COLLECTIVES(MPIRIC_NONBLOCKING)
        MPIRIC_COLLECTIVES(MPIRIC_PERSISTENT) count
};

inline constexpr std::string_view collective_names[] = {MPIRIC_COLLECTIVES(MPIRIC_BLOCKING_NAME)
                                                            MPIRIC_COLLECTIVES(MPIRIC_NONBLOCKING_NAME)
                                                                MPIRIC_COLLECTIVES(MPIRIC_PERSISTENT_NAME)};

enum class Form : uint8_t { blocking, nonblocking, persistent, count };

inline constexpr uint32_t collective_count = uint32_t(Collective::count);
inline constexpr uint32_t blocking_count = collective_count / uint32_t(Form::count);
static_assert(std::size(collective_names) == collective_count);

/// Name in policies and folders, ended by a zero: "reduce_scatter_block".
constexpr std::string_view name_of(Collective collective) noexcept {
    return collective_names[uint32_t(collective)];
}

/// The collective of a name; `count` when there is none.
constexpr Collective collective_of(std::string_view name) noexcept {
    for (uint32_t at = 0; at < collective_count; ++at)
        if (collective_names[at] == name)
            return Collective(at);
    return Collective::count;
}

constexpr Form form_of(Collective collective) noexcept { return Form(uint32_t(collective) / blocking_count); }

/// The same collective in another form.
constexpr Collective in_form(Collective collective, Form form) noexcept {
    return Collective(uint32_t(collective) % blocking_count + uint32_t(form) * blocking_count);
}

/// Whether numbers are added up: the order can then show in the result.
constexpr bool reduces(Collective collective) noexcept {
    using enum Collective;
    const Collective blocking = in_form(collective, Form::blocking);
    return blocking == allreduce || blocking == reduce || blocking == reduce_scatter ||
           blocking == reduce_scatter_block || blocking == scan || blocking == exscan;
}

}  // namespace mpiric

#undef MPIRIC_BLOCKING
#undef MPIRIC_NONBLOCKING
#undef MPIRIC_PERSISTENT
#undef MPIRIC_BLOCKING_NAME
#undef MPIRIC_NONBLOCKING_NAME
#undef MPIRIC_PERSISTENT_NAME
#undef MPIRIC_COLLECTIVES

// A collective algorithm as the selection sees it: its name, the calls that it serves, and a function to run
// it.
//
// An algorithm lives in src/runtime/coll/<collective>/<name>.cpp and enters the registry with
// MPIRIC_ALGORITHMS; nothing else names it.
#pragma once

#include "base/collective.hpp"
#include "coll/counts.hpp"
#include "world/library.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace mpiric::coll {

class Team;

/// Where the ranks of a team sit, as far as it is equal on all of them.
struct Layout {
    int size = 1;             ///< ranks
    int nodes = 1;            ///< hosts that share memory inside
    int most_per_node = 1;    ///< ranks on the fullest node
    int least_per_node = 1;   ///< ranks on the emptiest node
    bool consecutive = true;  ///< each node's ranks follow one another
    /// Levels on the node with most of them: 2 and 3 with NUMA domains and packages.
    int memory_levels = 1;
    bool levels_consecutive = true;  ///< ranks of each level follow one another on each node
    bool shared_memory = false;      ///< every node has a board: memory that its ranks share
    bool direct_reads = false;       ///< every rank may read the memory of the others on its node
    uint32_t slot_bytes = 0;         ///< size of a board's slot, the smallest of all nodes
};

/// One call as all ranks see it: nothing in here may differ between them.
///
/// | collective | bytes | count |
/// |---|---|---|
/// | allreduce, bcast, reduce, scan, exscan | whole buffer | elements (reductions only) |
/// | allgather, gather, scatter, alltoall, reduce_scatter_block | block of one rank | of the block
/// (reductions only) | | allgatherv, reduce_scatter | all blocks together | of all blocks (reduce_scatter) |
/// | alltoallv, gatherv, scatterv, barrier | 0: not known to all | 0 |
///
/// Counts and datatypes of data movements may differ between ranks, their bytes may not; a reduction has the
/// same count, datatype and operation everywhere.
struct Workload {
    Collective collective{};
    Layout layout;
    uint64_t bytes = 0;
    uint64_t count = 0;
    uint64_t span = 0;        ///< reductions: bytes from the first to the last, gaps included (see span_of)
    bool dense = true;        ///< reductions: the datatype has no gaps
    bool commutative = true;  ///< reductions
    bool in_place = false;    ///< alltoall, alltoallv: MPI wants it on all ranks or none
};

/// Arguments of one rank. Fields that the collective does not have, or that MPI ignores on this rank, are
/// unset.
struct Arguments {
    Team& team;
    const void* send = nullptr;                   ///< may be MPI_IN_PLACE; buffer of a bcast is `receive`
    void* receive = nullptr;                      ///< may be MPI_IN_PLACE (scatter, at the root)
    MPI_Count send_count = 0, receive_count = 0;  ///< one count; reductions and bcast: receive_count
    // NOLINTBEGIN(readability-redundant-member-init): without {}, GCC asks whoever makes a Arguments to name
    // them
    Counts send_counts{}, receive_counts{};                ///< v-forms, reduce_scatter
    Counts send_displacements{}, receive_displacements{};  ///< v-forms: displacements in extents
    // NOLINTEND(readability-redundant-member-init)
    MPI_Datatype send_type{}, receive_type{};  ///< reductions and bcast: receive_type
    MPI_Op op{};
    int root = 0;
};

/// Whether a result may depend on where ranks sit.
enum class ReductionOrder : uint8_t {
    fixed,  ///< the order of reduction follows from size and count alone: equal on every rank and every run
    placement,  ///< it also follows from which ranks share a node
    none,       ///< nothing is reduced
};

// In the order of a row of the tables. NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct Algorithm {
    Collective collective;
    const char* name;    ///< file stem, with a parameter where there is one: "knomial_4"
    const char* source;  ///< the paper
    ReductionOrder order;
    bool (*suits)(const Workload&);        ///< pure; null: every workload
    uint64_t (*scratch)(const Workload&);  ///< most bytes it takes from the heap on any rank; null: none
    int (*run)(const Arguments&);  ///< an MPI error code; raises nothing on any communicator of the program
};

/// Most bytes of scratch a rank may take for a call.
inline constexpr uint64_t scratch_limit_bytes = uint64_t(64) << 20;

/// Whether `run` gives the right result for this workload, on all ranks or on none: pure.
bool serves(const Algorithm& algorithm, const Workload& workload,
            uint64_t scratch_bytes = scratch_limit_bytes) noexcept;

/// The facts of a call that all ranks know, from one rank's arguments. Pure but for questions about the
/// datatype and the operation. Every rank of a correct program gets the same.
Workload workload_of(Collective collective, const Arguments& call) noexcept;

/// Every algorithm that was linked in, ordered by collective and name.
std::span<const Algorithm* const> algorithms() noexcept;

/// The algorithm of that name, null when there is none.
const Algorithm* find_algorithm(Collective collective, const char* name) noexcept;

template <size_t count>
consteval std::array<const Algorithm*, count> each_of(const Algorithm (&table)[count]) noexcept {
    std::array<const Algorithm*, count> pointers{};
    for (size_t row = 0; row < count; ++row)
        pointers[row] = &table[row];
    return pointers;
}

}  // namespace mpiric::coll

/// Enters algorithms, a braced row of an Algorithm each, into the registry. The alignment is explicit because
/// the compiler may give arrays a larger one: the section has no gaps.
#define MPIRIC_ALGORITHMS(...)                                                                               \
    constinit const Algorithm registered[] = {__VA_ARGS__};                                                  \
    [[gnu::section("mpiric_algorithms"), gnu::used]] alignas(void*) constinit const auto entries =           \
        ::mpiric::coll::each_of(registered);

// A collective algorithm as the selection sees it: name, calls that it serves, function to run it.
//
// An algorithm lives in src/runtime/coll/<collective>/<name>.cpp and enters the registry with
// MPIRIC_ALGORITHMS; nothing else names it.
#pragma once

#include "base/collective.hpp"
#include "world/library.hpp"
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace mpiric::coll {

// The arrays of the v-forms, as the program gave them: of int, or MPI_Count and MPI_Aint (large forms).

class Counts {
  public:
    constexpr Counts() noexcept = default;
    constexpr Counts(const int* narrow) noexcept : at_(narrow), step_(sizeof(int)) {}
    constexpr Counts(const long* wide) noexcept : at_(wide), step_(sizeof(int64_t)) {}
    constexpr Counts(const long long* wide) noexcept : at_(wide), step_(sizeof(int64_t)) {}

    MPI_Count operator[](int rank) const noexcept {
        if (step_ == sizeof(int))
            return static_cast<const int*>(at_)[rank];
        int64_t value;
        std::memcpy(&value, static_cast<const char*>(at_) + size_t(rank) * sizeof value, sizeof value);
        return MPI_Count(value);
    }
    explicit operator bool() const noexcept { return at_; }

  private:
    const void* at_ = nullptr;
    size_t step_ = 0;
};

static_assert(sizeof(MPI_Count) == sizeof(int64_t) && sizeof(MPI_Aint) == sizeof(int64_t));

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

/// Arguments of one rank. Fields that the collective does not have, or MPI ignores here, are unset.
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
};

// In the order of a row of the tables. NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct Algorithm {
    Collective collective;
    const char* name;                      ///< file stem, with a parameter where there is one: "knomial_4"
    const char* source;                    ///< the paper
    bool (*suits)(const Workload&);        ///< pure; null: every workload
    uint64_t (*scratch)(const Workload&);  ///< most bytes it takes from the heap on any rank; null: none
    int (*run)(const Arguments&);  ///< an MPI error code; raises nothing on any communicator of the program
    ReductionOrder order = ReductionOrder::fixed;
};

/// Most bytes of scratch a rank may take for a call.
inline constexpr uint64_t scratch_limit_bytes = uint64_t(64) << 20;

/// Whether `run` gives the right result for this workload, on all ranks or on none: pure.
bool serves(const Algorithm& algorithm, const Workload& workload,
            uint64_t scratch_bytes = scratch_limit_bytes) noexcept;

/// Every algorithm that was linked in, ordered by collective and name.
std::span<const Algorithm* const> algorithms() noexcept;

template <class Table> consteval auto each_of(const Table& table) noexcept {
    std::array<const Algorithm*, std::tuple_size_v<Table>> pointers{};
    for (size_t row = 0; row < pointers.size(); ++row)
        pointers[row] = &table[row];
    return pointers;
}

/// The rows, and once more for another collective.
template <size_t count>
consteval std::array<Algorithm, 2 * count> with_other(Collective other,
                                                      const Algorithm (&rows)[count]) noexcept {
    std::array<Algorithm, 2 * count> all{};
    for (size_t row = 0; row < count; ++row) {
        all[row] = all[count + row] = rows[row];
        all[count + row].collective = other;
    }
    return all;
}

}  // namespace mpiric::coll

/// Enters algorithms, a braced row of an Algorithm each, into the registry.
#define MPIRIC_ALGORITHMS(...) MPIRIC_ENTER(__COUNTER__, std::to_array<Algorithm>({__VA_ARGS__}))
/// The same of rows that hold for another collective, too.
#define MPIRIC_ALGORITHMS_OF_BOTH(other, ...)                                                                \
    MPIRIC_ENTER(__COUNTER__, ::mpiric::coll::with_other(other, {__VA_ARGS__}))

// The number tells the tables of files that are compiled together apart. The alignment is explicit because
// the compiler may give arrays a larger one: the section has no gaps.
#define MPIRIC_ENTER(number, ...) MPIRIC_ENTER_AS(number, __VA_ARGS__)
#define MPIRIC_ENTER_AS(number, ...)                                                                         \
    constinit const auto registered_##number = __VA_ARGS__;                                                  \
    [[gnu::section("mpiric_algorithms"), gnu::used]] alignas(void*) constinit const auto entries_##number =  \
        ::mpiric::coll::each_of(registered_##number);

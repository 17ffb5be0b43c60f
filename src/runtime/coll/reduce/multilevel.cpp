// Within NUMA domains, packages and nodes, then between nodes. The ranks of a domain show their operands to
// its leader, which shows what it has reduced of them to the leader of its package, and so on up to one rank
// of each node (the root for its own); those take part in a binomial tree. Long vectors go piece by piece.
//
// Cost: ⌈log₂ N⌉ (α + nβ + nγ) for N nodes; in bytes of memory traffic, n written by each rank, and read
// across the border of a domain or package once for each of them instead of once for each rank. Katevenis,
// Ploumidis, Marazakis: A Framework for Hierarchical Single-Copy MPI Collectives. Cluster 2022; Graham,
// Shipman: MPI Support for Multi-core Architectures. EuroPVM/MPI 2008.
#include "coll/board.hpp"
#include "coll/reduce/stages.hpp"
#include "coll/suits.hpp"

#include <algorithm>
#include <cstring>

namespace mpiric::coll {
namespace {

/// The work of one rank of a tree on one piece of the vector.
class Joint {
  public:
    Joint(const Reduction& reduction, const Tree& tree, MPI_Count count) noexcept
        : reduction_(reduction), board_(reduction.team().board()), tree_(tree), count_(count),
          span_(span_of(reduction.geometry(), count)), offset_(offset_of(reduction.geometry(), count)) {}

    /// Shows the parent the reduction of `own` and the operands that the children show.
    int hand_up(const void* own) noexcept {
        char* slot = board_.fill(span_) - offset_;
        const bool own_first = reduction_.commutative() || is_last();
        save(own_first ? own : shown_by(tree_.children.back()), slot);
        MPIRIC_TRY(join(own, own_first, slot));
        board_.publish();
        board_.finish();
        return MPI_SUCCESS;
    }

    /// The same at the root, where `own` may be `into`.
    int take(const void* own, char* into) noexcept {
        const bool own_first = reduction_.commutative() || is_last();
        if (!own_first) {
            char* slot = board_.fill(span_) - offset_;
            save(own, slot);
            own = slot;
        }
        MPIRIC_TRY(reduction_.copy(own_first ? own : shown_by(tree_.children.back()), into, count_));
        MPIRIC_TRY(join(own, own_first, into));
        board_.finish();
        return MPI_SUCCESS;
    }

  private:
    bool is_last() const noexcept { return tree_.children.empty() || tree_.children.back() < board_.rank(); }
    const char* shown_by(int rank) const noexcept { return board_.look(rank, span_) - offset_; }
    void save(const void* from, char* slot) const noexcept {
        std::memcpy(slot + offset_, static_cast<const char*>(from) + offset_, span_);
    }

    /// Adds to `sum`, which has the operand of this rank or of the last child, all others.
    int join(const void* own, bool has_own, char* sum) noexcept {
        const std::span<const int> children = tree_.children;
        if (reduction_.commutative()) {
            for (const int child : children)
                MPIRIC_TRY(reduction_.reduce(shown_by(child), sum, count_));
            return MPI_SUCCESS;
        }
        for (size_t left = children.size() - !has_own; left-- > 0;) {
            if (!has_own && children[left] < board_.rank()) {
                MPIRIC_TRY(reduction_.reduce(own, sum, count_));
                has_own = true;
            }
            MPIRIC_TRY(reduction_.reduce(shown_by(children[left]), sum, count_));
        }
        return has_own ? MPI_SUCCESS : reduction_.reduce(own, sum, count_);
    }

    const Reduction& reduction_;
    Board& board_;
    const Tree& tree_;
    MPI_Count count_;
    uint64_t span_;
    MPI_Aint offset_;
};

}  // namespace

int multilevel_reduce(const Reduction& reduction, int root, const void* input, void* result,
                      MPI_Count count) noexcept {
    const Board& board = reduction.team().board();
    const Tree& tree = reduction.team().tree(root);
    const MPI_Count most = reduction.per_slot(board.slot_bytes());
    for (MPI_Count done = 0; done < count; done += most) {
        Joint joint{reduction, tree, std::min(most, count - done)};
        const char* own = reduction.at(input, done);
        MPIRIC_TRY(board.rank() == root ? joint.take(own, reduction.at(result, done)) : joint.hand_up(own));
    }
    return MPI_SUCCESS;
}

MPIRIC_ALGORITHMS({Collective::reduce, "multilevel", "Katevenis et al. 2022",
                   [](const Workload& workload) {
                       return has_memory_levels(workload) && levels_join(workload) && elements_fit(workload);
                   },
                   two_spans, reduce_nodes<multilevel_reduce>, ReductionOrder::placement})

}  // namespace mpiric::coll

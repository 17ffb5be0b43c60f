// Groups the ranks of a node by NUMA domain and package, and makes the tree of a root from the groups.
#include "coll/levels.hpp"

#include <algorithm>

namespace mpiric::coll {
namespace {

/// Finds for each rank the lowest that is the same; returns how many groups there are.
template <class Same> int group(std::span<int> lowest, Same same) noexcept {
    int groups = 0;
    const int ranks = int(lowest.size());
    for (int rank = 0; rank < ranks; ++rank) {
        int& found = lowest[size_t(rank)];
        found = rank;
        for (int other = 0; other < rank && found == rank; ++other)
            if (lowest[size_t(other)] == other && same(other, rank))
                found = other;
        groups += found == rank;
    }
    return groups;
}

/// Who leads a rank's group in the tree of a root.
int leader(const std::vector<int>& lowest, int rank, int root) noexcept {
    return lowest[size_t(rank)] == lowest[size_t(root)] ? root : lowest[size_t(rank)];
}

}  // namespace

Levels::Levels(size_t most_ranks) : inner_(most_ranks), outer_(most_ranks), children_(most_ranks) {}

void Levels::arrange(std::span<const Seat> seats) noexcept {
    const size_t ranks = seats.size();
    const bool domains_known = std::ranges::all_of(seats, [](const Seat& seat) { return seat.domain >= 0; });
    const bool packages_known =
        std::ranges::all_of(seats, [](const Seat& seat) { return seat.package >= 0; });
    const auto same_domain = [&](int left, int right) {
        return !domains_known || seats[size_t(left)].domain == seats[size_t(right)].domain;
    };
    const auto same_package = [&](int left, int right) {
        return !packages_known || seats[size_t(left)].package == seats[size_t(right)].package;
    };
    const std::span inner{inner_.data(), ranks}, outer{outer_.data(), ranks};
    const int domains = group(inner, same_domain);
    int outer_groups = group(outer, same_package);
    // Domains are within packages, or, in some virtual machines, the other way round.
    if (domains < outer_groups)
        outer_groups = group(outer, same_domain);
    const int inner_groups = group(
        inner, [&](int left, int right) { return same_domain(left, right) && same_package(left, right); });
    const int levels =
        int(inner_groups < int(ranks)) + int(outer_groups < inner_groups) + int(outer_groups > 1);
    depth_ = std::max(levels, 1);
    consecutive_ = std::ranges::is_sorted(inner) && std::ranges::is_sorted(outer);
    ranks_ = int(ranks);
    root_ = rank_ = -1;
}

int Levels::parent_of(int rank, int root) const noexcept {
    if (const int above = leader(inner_, rank, root); above != rank)
        return above;
    if (const int above = leader(outer_, rank, root); above != rank)
        return above;
    return rank == root ? -1 : root;
}

const Tree& Levels::tree(int root, int rank) noexcept {
    if (root == root_ && rank == rank_) [[likely]]
        return tree_;
    size_t children = 0;
    for (int other = 0; other < ranks_; ++other)
        if (parent_of(other, root) == rank)
            children_[children++] = other;
    root_ = root, rank_ = rank;
    tree_ = {parent_of(rank, root), {children_.data(), children}};
    return tree_;
}

}  // namespace mpiric::coll

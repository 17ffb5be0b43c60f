// Ranks beyond the largest power of two stand aside while the others work.
#pragma once

#include "coll/reduction.hpp"

#include <bit>
#include <vector>

namespace mpiric::coll {

inline constexpr int everyone = -1;

/// Of the first 2·(p − p') members, the even ones hand their operand to their right neighbour, which works
/// for both in a group of p', a power of two; afterwards they get the result, or the only member that wants
/// it does. Order is kept.
template <class Work>
int folded(const Reduction& reduction, const Group& group, char* data, MPI_Count count, Work work,
           int wanted_by = everyone) noexcept {
    const int power = int(std::bit_floor(unsigned(group.size))), beyond = group.size - power, me = group.rank;
    if (beyond == 0)
        return work(group);
    const bool paired = me < 2 * beyond;
    const auto wants = [&](int member) { return wanted_by == everyone || wanted_by == member; };
    if (paired && me % 2 == 0) {
        MPIRIC_TRY(reduction.send(data, count, group[me + 1]));
        if (wants(me))
            return reduction.receive(data, count, group[me + 1]);
        return MPI_SUCCESS;
    }
    if (paired) {
        const Elements other{reduction, count};
        MPIRIC_TRY(other.error());
        MPIRIC_TRY(reduction.receive(other.data(), count, group[me - 1]));
        MPIRIC_TRY(reduction.reduce(other.data(), data, count));
    }
    std::vector<int> ranks(static_cast<size_t>(power));
    for (int member = 0; member < power; ++member)
        ranks[size_t(member)] = group[member < beyond ? 2 * member + 1 : member + beyond];
    MPIRIC_TRY(work(Group{ranks.data(), power, paired ? me / 2 : me - beyond}));
    if (paired && wants(me - 1))
        return reduction.send(data, count, group[me - 1]);
    return MPI_SUCCESS;
}

}  // namespace mpiric::coll

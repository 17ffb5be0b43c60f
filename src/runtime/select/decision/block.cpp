#include "select/decision/block.hpp"

#include "select/decision/exploration.hpp"

#include <algorithm>

namespace mpiric::select {
namespace {

// What a decided call of another candidate takes before it begins, more than one of the library's: some 500
// instructions (benchmarks/collective_cost.py), and reads of what the program's ranks have not touched since.
constexpr uint64_t dispatch_ns = 100;

// Agreements in a row for which some rank has calls under way: then the program does not wait for them, and
// there is little to win.
constexpr uint32_t most_postponed = 32;

enum Sum : uint8_t { inside, between, agreeing, missing_rendezvous, composed, under_way };

}  // namespace

void note_measured(Exploration& exploration, uint64_t bytes, bool is_composed) noexcept {
    exploration.composed = exploration.composed || is_composed;
    exploration.least_bytes = std::min(exploration.least_bytes, bytes);
    exploration.most_bytes = std::max(exploration.most_bytes, bytes);
}

void add_call(Exploration& exploration, uint32_t candidate, uint64_t begin_ns, uint64_t end_ns) noexcept {
    Block& block = exploration.block;
    if (block.last_end_ns)
        block.between_ns += begin_ns - block.last_end_ns;
    block.inside_ns += end_ns - begin_ns + (candidate == exploration.candidates.front() ? 0 : dispatch_ns);
    block.last_end_ns = end_ns;
}

BlockSums sums_of(const Exploration& exploration) noexcept {
    const Block& block = exploration.block;
    BlockSums sums{};
    sums[inside] = block.inside_ns;
    sums[between] = block.between_ns;
    sums[agreeing] = block.agreeing_ns;
    sums[missing_rendezvous] = ~block.rendezvous_ns;  // the largest of these is the least wait
    sums[composed] = exploration.composed;
    sums[under_way] = block.under_way;
    return sums;
}

void end_block(Entry& entry, Exploration& exploration, const BlockSums& largest) {
    exploration.block = {};
    tune::Learner& learner = *exploration.learner;
    learner.end_block({largest[inside], largest[between], largest[agreeing], ~largest[missing_rendezvous]});
    const uint32_t choice = learner.race().choice();
    if (largest[composed])
        conclude(entry, exploration, Choice::library);
    else if (learner.decided())
        conclude(entry, exploration, choice == 0 ? Choice::library : int32_t(exploration.candidates[choice]));
}

bool end_started_block(Entry& entry, Exploration& exploration, const BlockSums& largest) {
    if (largest[under_way] == 0)
        end_block(entry, exploration, largest);
    else if (++exploration.block.postponed == most_postponed)
        conclude(entry, exploration, Choice::library);
    else
        return false;
    return true;
}

}  // namespace mpiric::select

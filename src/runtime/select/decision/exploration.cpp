// The steps of an exploration: its candidates, blocks of measured calls, and the choice at its end.
#include "select/decision/exploration.hpp"

#include <algorithm>
#include <cstdlib>

namespace mpiric::select {
namespace {

// Times the library's own time in a neighbouring size class; twice that in the next but one.
constexpr double hopeless_ratio = 4;

/// Whether neighbouring size classes have shown a candidate so slow that this one need not try it.
bool is_hopeless_nearby(const Explorations& explorations, Collective collective, uint64_t bytes,
                        uint32_t candidate) {
    const int size_class = int(tune::class_of(bytes));
    for (const int distance : {-1, 1, -2, 2}) {
        const int neighbour = size_class + distance;
        if (neighbour < 0 || neighbour >= int(tune::class_count))
            continue;
        const auto found = explorations.find(exploration_key(collective, uint32_t(neighbour)));
        if (found == explorations.end() || !found->second.learner)
            continue;
        const std::vector<uint32_t>& timed = found->second.candidates;
        const auto at = std::find(timed.begin(), timed.end(), candidate);
        if (at != timed.end() && found->second.learner->race().warmup_ratio(uint32_t(at - timed.begin())) >
                                     hopeless_ratio * std::abs(distance))
            return true;
    }
    return false;
}

// A choice is proved again after four times the calls it took to learn it.
constexpr uint64_t first_reproof = 4;

/// Lets a choice hold for sizes within a quarter of those it was learned with, and for a while.
void split(std::vector<SizeRange>& into, const SizeRange& whole, const Exploration& exploration,
           uint64_t calls) {
    const uint64_t least = exploration.least_bytes, most = exploration.most_bytes;
    const uint64_t low = std::clamp(least - least / 4, whole.from, whole.to);
    const uint64_t high = std::clamp(most + most / 4 + 1, low, whole.to);
    const SizeRange parts[] = {{whole.from, low, whole.choice, true, 0},
                               {low, high, whole.choice, true, calls * first_reproof},
                               {high, whole.to, whole.choice, true, 0}};
    for (const SizeRange& part : parts)
        if (part.from < part.to)
            into.push_back(part);
}

// Cost of a dispatched call of another candidate before it begins, above the cost of one of the library's:
// some 500 instructions (benchmarks/collective_cost.py), and cache misses.
constexpr uint64_t dispatch_ns = 100;

// Agreements in a row for which some rank has calls under way: then there is little to win.
constexpr uint32_t most_postponed = 32;

enum Sum : uint8_t { inside, between, agreeing, missing_rendezvous, composed, under_way };

}  // namespace

void begin_learning(const Basis& basis, const Explorations& explorations, Entry& entry,
                    Exploration& exploration, Collective collective, uint64_t bytes,
                    std::span<const uint32_t> serving) {
    std::vector<int32_t> parents;
    std::unordered_map<int32_t, int32_t> number;
    for (const uint32_t candidate : serving) {
        const int32_t parent = basis.catalogue[candidate].parent;
        const auto known = number.find(parent);
        if ((parent >= 0 && known == number.end()) ||
            is_hopeless_nearby(explorations, collective, bytes, candidate))
            continue;
        number[int32_t(candidate)] = int32_t(exploration.candidates.size());
        exploration.candidates.push_back(candidate);
        parents.push_back(parent < 0 ? tune::Race::no_parent : known->second);
    }
    exploration.reproves = basis.rules.reprove && form_of(collective) == Form::blocking;
    exploration.learner = std::make_unique<tune::Learner>(parents, basis.rules.learn_at_most);
    if (exploration.learner->decided())
        end_with(entry, exploration, Choice::library);
}

void end_with(Entry& entry, Exploration& exploration, int32_t choice) {
    std::vector<SizeRange> ranges;
    for (SizeRange range : exploration.ranges) {
        const bool open = range.choice == Choice::explore;
        if (open)
            range.choice = choice;
        if (open && choice >= 0 && exploration.reproves)
            split(ranges, range, exploration, entry.calls);
        else
            ranges.push_back(range);
    }
    exploration.ranges.swap(ranges);
    if (!exploration.is_reproof)
        publish(entry, exploration);
}

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
        end_with(entry, exploration, Choice::library);
    else if (learner.decided())
        end_with(entry, exploration, choice == 0 ? Choice::library : int32_t(exploration.candidates[choice]));
}

bool end_started_block(Entry& entry, Exploration& exploration, const BlockSums& largest) {
    if (largest[under_way] == 0)
        end_block(entry, exploration, largest);
    else if (++exploration.block.postponed == most_postponed)
        end_with(entry, exploration, Choice::library);
    else
        return false;
    return true;
}

void publish(Entry& entry, Exploration& exploration) noexcept {
    const std::vector<SizeRange>& ranges = exploration.ranges;
    const auto is_library = [](const SizeRange& range) { return range.choice == Choice::library; };
    entry.held = nullptr;
    entry.choice = std::all_of(ranges.begin(), ranges.end(), is_library) ? Choice::library : Choice::look_up;
    const auto held = std::find_if(ranges.begin(), ranges.end(), [](const SizeRange& range) {
        return range.choice >= 0 && range.holds_until > 0;
    });
    if (held == ranges.end())
        return;
    exploration.held = *held;
    entry.held = &exploration.held;
    entry.choice = held->choice;
}

bool has_calls_under_way(const Explorations& explorations) noexcept {
    return std::any_of(explorations.begin(), explorations.end(),
                       [](const auto& item) { return item.second.block.under_way > 0; });
}

bool has_choices(const Explorations& explorations) noexcept {
    return std::any_of(explorations.begin(), explorations.end(), [](const auto& item) {
        const Exploration& exploration = item.second;
        return exploration.learner || std::any_of(exploration.ranges.begin(), exploration.ranges.end(),
                                                  [](const SizeRange& range) { return range.choice >= 0; });
    });
}

}  // namespace mpiric::select

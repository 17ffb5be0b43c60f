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
        conclude(entry, exploration, Choice::library);
}

void conclude(Entry& entry, Exploration& exploration, int32_t choice) {
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

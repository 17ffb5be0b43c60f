// Looks up who serves the calls of a size class: the policy's choice, a learned one, or an exploration.
#include "select/decision/decision.hpp"

#include "base/say.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace mpiric::select {
namespace {

/// A bit for each collective that is named; all bits where none is.
uint64_t collective_bits(std::string_view names) {
    if (names.empty())
        return UINT64_MAX;
    uint64_t bits = 0;
    while (!names.empty()) {
        const size_t end = std::min(names.find_first_of(", "), names.size());
        const std::string_view name = names.substr(0, end);
        if (const Collective named = collective_of(name); named != Collective::count)
            bits |= uint64_t(1) << uint32_t(named);
        else if (!name.empty())
            say_once("MPIRIC_LEARN_ONLY names no collective", std::string(name).c_str());
        names.remove_prefix(std::min(end + 1, names.size()));
    }
    return bits;
}

/// The candidate that a policy names; the library where this job may not use it.
int32_t chosen(const Basis& basis, Collective collective, const std::string& name) {
    const int32_t candidate = basis.catalogue.index_of(collective, name);
    if (candidate < 0)
        return Choice::library;
    const auto index = uint32_t(candidate);
    const bool allowed = may_vary(basis.rules, collective) || basis.fixed_order[index];
    return basis.catalogue[index].kind != tune::Kind::library && basis.usable[index] && allowed
               ? candidate
               : Choice::library;
}

// A policy's choice serves from the first call on; a key with more calls than these proves it.
constexpr uint64_t first_policy_reproof = 64;

// After a reproof the next one comes when the key has eight times the calls.
constexpr uint64_t next_reproof = 8;

/// The ranges of a size class: the policy's choice, and for the rest whether it is learned.
std::vector<SizeRange> ranges_of(const Basis& basis, const tune::Shape& shape, Collective collective,
                                 uint32_t size_class) {
    const uint64_t from = tune::class_begin(size_class), to = tune::class_end(size_class);
    const Rules& rules = basis.rules;
    const bool learns = rules.mode == Collectives::online && shape.ranks >= rules.learn_ranks &&
                        (rules.learn_only >> uint32_t(collective) & 1) != 0 && may_vary(rules, collective);
    const int32_t otherwise = learns ? Choice::explore : Choice::library;
    if (!basis.policy)
        return {{from, to, otherwise}};
    // Forms that do not block are never compared again.
    const bool reproves =
        rules.reprove && may_vary(rules, collective) && form_of(collective) == Form::blocking;
    std::vector<SizeRange> ranges;
    for (const tune::Covered& part : tune::look_up(*basis.policy, collective, shape, from, to))
        if (part.rule)
            ranges.push_back({part.from, part.to, chosen(basis, collective, part.rule->candidate), false,
                              reproves ? first_policy_reproof : UINT64_MAX});
        else
            ranges.push_back({part.from, part.to, otherwise});
    return ranges;
}

/// The exploration that compares the choice of a range with the library's own; null while it is another
/// range's turn. `calls`: of the key so far.
Exploration* reproof_of(const Basis& basis, Exploration& exploration, const SizeRange& range,
                        Collective collective, uint64_t calls) {
    if (!exploration.reproof) {
        auto reproof = std::make_unique<Exploration>();
        reproof->is_reproof = true;
        reproof->ranges.push_back({range.from, range.to, Choice::explore});
        reproof->candidates = {basis.catalogue.of(collective).front(), uint32_t(range.choice)};
        reproof->learner = range.learned ? std::make_unique<tune::Learner>(*exploration.learner, calls)
                                         : std::make_unique<tune::Learner>(calls, basis.rules.learn_at_most);
        exploration.reproof = std::move(reproof);
    }
    return exploration.reproof->ranges.front().from == range.from ? exploration.reproof.get() : nullptr;
}

/// Takes over what a reproof has shown, once it has ended.
void take_reproof(Entry& entry, Exploration& exploration) {
    if (!exploration.reproof || exploration.reproof->ranges.front().choice == Choice::explore)
        return;
    std::unique_ptr<Exploration> reproof = std::move(exploration.reproof);
    const SizeRange verdict = reproof->ranges.front();
    bool of_policy = false;
    for (SizeRange& range : exploration.ranges) {
        if (range.from != verdict.from)
            continue;
        range.choice = verdict.choice;
        range.holds_until = entry.calls * next_reproof;
        range.proved = of_policy = !range.learned;
    }
    if (of_policy)
        exploration.policy_proof = std::move(reproof);
    publish(entry, exploration);
}

/// Lets a range take the fast path for `calls` calls, this one among them.
void hold(Entry& entry, Exploration& exploration, const SizeRange& range, uint64_t calls) noexcept {
    exploration.held = range;
    exploration.held.holds_until = entry.calls + calls;
    entry.held = &exploration.held;
    entry.choice = range.choice >= 0 ? range.choice : Choice::library_for_now;
}

}  // namespace

Rules rules_of(const Options& options, bool writes_policy) {
    return {.mode = options.collectives,
            .learn_at_most = options.learn_at_most,
            .reprove = options.reprove,
            .reproducible = options.reproducible,
            .writes_policy = writes_policy,
            .learn_ranks = options.learn_ranks,
            .learn_only = collective_bits(options.learn_only),
            .scratch_bytes = uint64_t(options.scratch_mib) << 20};
}

int32_t rotated(const Basis& basis, uint64_t calls, Collective collective) {
    const std::vector<uint32_t> candidates = basis.catalogue.of(collective);
    uint64_t mixed = calls * 0x9E3779B97F4A7C15ull;
    mixed ^= mixed >> 29;
    return int32_t(candidates[mixed % candidates.size()]);
}

Decision look_up(const Basis& basis, const tune::Shape& shape, Explorations& explorations, Entry& entry,
                 const CallTraits& call) {
    const uint32_t size_class = tune::class_of(call.bytes);
    const auto [found, is_new] = explorations.try_emplace(exploration_key(call.collective, size_class));
    Exploration& exploration = found->second;
    if (is_new) {
        exploration.ranges = ranges_of(basis, shape, call.collective, size_class);
        publish(entry, exploration);
    }
    take_reproof(entry, exploration);
    auto range = exploration.ranges.begin();
    while (call.bytes >= range->to && range + 1 != exploration.ranges.end())
        ++range;
    const bool learns = range->choice == Choice::explore;
    if (!learns && (range->choice < 0 || entry.calls < range->holds_until))
        return {range->choice};
    Exploration* next =
        learns ? &exploration : reproof_of(basis, exploration, *range, call.collective, entry.calls);
    if (!next)
        return {range->choice};
    const bool single = next->ranges.size() == 1;  // else calls of other ranges would go on with its learner
    if (const uint64_t pause = single && next->learner ? next->learner->take_pause() : 0) {
        hold(entry, exploration, *range, pause);
        return {learns ? Choice::library : range->choice};
    }
    return {Choice::explore, next};
}

bool serves_at_once(const Basis& basis, int32_t choice, Collective collective) noexcept {
    if (choice < 0)
        return false;
    const tune::Candidate& candidate = basis.catalogue[uint32_t(choice)];
    return form_of(collective) != Form::blocking || !may_vary(basis.rules, collective) ||
           (candidate.kind == tune::Kind::switched && candidate.scope == tune::Scope::process);
}

}  // namespace mpiric::select

#include "select/decision/reproof.hpp"

#include <utility>

namespace mpiric::select {
namespace {

// A policy's choice serves from the first call on; a key with more calls than these proves it.
constexpr uint64_t first_policy_reproof = 64;

// After a reproof the next one comes when the key has eight times the calls.
constexpr uint64_t next_reproof = 8;

}  // namespace

uint64_t calls_before_reproof(const Rules& rules, Collective collective) noexcept {
    const bool may_change = rules.reprove && may_vary(rules, collective);
    return may_change && form_of(collective) == Form::blocking ? first_policy_reproof : UINT64_MAX;
}

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

}  // namespace mpiric::select

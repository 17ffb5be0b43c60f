// What is learnt, or known from a policy, about the calls of one collective and size class.
#include "coll/datatype.hpp"
#include "wrap/answering.hpp"

#include <algorithm>
#include <cstdlib>

namespace mpiric::wrap {
namespace {

/// Whether the rules let this key be learnt at all.
bool may_learn(const Tuning& all, const Knowledge& known, Collective collective) noexcept {
    const Rules& rules = all.rules;
    return rules.mode == Collectives::online && known.shape.ranks >= rules.learn_ranks &&
           (rules.learn_only == 0 || rules.learn_only >> uint32_t(collective) & 1) &&
           !(rules.reproducible && reduces(collective));
}

/// Index of what a policy names; `library` when it is not to be had here.
int32_t chosen(Tuning& all, Collective collective, const std::string& name) {
    const int32_t candidate = all.catalogue.find(collective, name);
    if (candidate < 0 || all.catalogue[uint32_t(candidate)].kind == tune::Kind::library ||
        !all.usable[uint32_t(candidate)])
        return Entry::library;
    const coll::Algorithm* own = all.algorithms[uint32_t(candidate)];
    if (all.rules.reproducible && reduces(collective) && !(own && own->order == coll::Order::fixed))
        return Entry::library;
    return candidate;
}

/// The policy's word on a size class, and for the rest whether it is learnt.
Lesson begin_lesson(Tuning& all, const Knowledge& known, Collective collective, uint32_t size_class) {
    Lesson lesson;
    const uint64_t from = tune::class_begin(size_class), to = tune::class_end(size_class);
    const int32_t otherwise = may_learn(all, known, collective) ? Stretch::learn : Entry::library;
    if (!all.policy) {
        lesson.stretches.push_back({from, to, otherwise});
        return lesson;
    }
    for (const tune::Covered& part : tune::look_up(*all.policy, collective, known.shape, from, to))
        lesson.stretches.push_back(
            {part.from, part.to, part.rule ? chosen(all, collective, part.rule->candidate) : otherwise});
    return lesson;
}

/// Whether the next size classes have shown a candidate so slow that this one need not ask again.
bool hopeless_nearby(const Lessons& lessons, const Ask& ask, uint32_t candidate) {
    constexpr double hopeless =
        4;  // times the library's own, in the class next door; twice that in the one behind
    const int here = int(tune::class_of(ask.bytes));
    for (const int away : {-1, 1, -2, 2}) {
        const int there = here + away;
        if (there < 0 || there >= int(tune::class_count))
            continue;
        const auto found = lessons.find(lesson_key(ask.collective, uint32_t(there)));
        if (found == lessons.end() || !found->second.learner)
            continue;
        const std::vector<uint32_t>& tried = found->second.candidates;
        const auto at = std::find(tried.begin(), tried.end(), candidate);
        if (at != tried.end() && found->second.learner->race().first_ratio(uint32_t(at - tried.begin())) >
                                     hopeless * std::abs(away))
            return true;
    }
    return false;
}

}  // namespace

uint32_t restless_choice(const Tuning& all, uint64_t calls, Collective collective) {
    const std::vector<uint32_t> candidates = all.catalogue.of(collective);
    uint64_t mixed = calls * 0x9E3779B97F4A7C15ull;
    mixed ^= mixed >> 29;
    return candidates[mixed % candidates.size()];
}

int32_t choice_for(Tuning& all, const Knowledge& known, Lessons& lessons, Entry& entry, Lesson*& lesson,
                   const Ask& ask) {
    const uint32_t size_class = tune::class_of(ask.bytes);
    const uint32_t key = lesson_key(ask.collective, size_class);
    auto found = lessons.find(key);
    if (found == lessons.end()) {
        found = lessons.emplace(key, begin_lesson(all, known, ask.collective, size_class)).first;
        if (found->second.stretches.size() == 1 && found->second.stretches[0].choice != Stretch::learn)
            entry.choice = found->second.stretches[0].choice;
    }
    lesson = &found->second;
    for (const Stretch& stretch : lesson->stretches)
        if (ask.bytes < stretch.to)
            return stretch.choice;
    return lesson->stretches.back().choice;
}

void begin_learning(Space& space, const Lessons& lessons, Entry& entry, Lesson& lesson, const Ask& ask) {
    Tuning& all = tuning();
    std::vector<int32_t> parents;
    std::unordered_map<int32_t, int32_t> number;
    for (const uint32_t candidate : all.catalogue.of(ask.collective)) {
        const int32_t parent = all.catalogue[candidate].parent;
        const auto with = number.find(parent);
        if ((parent >= 0 && with == number.end()) || !serves(space, ask, candidate) ||
            hopeless_nearby(lessons, ask, candidate))
            continue;
        number[int32_t(candidate)] = int32_t(lesson.candidates.size());
        lesson.candidates.push_back(candidate);
        parents.push_back(parent < 0 ? tune::Race::no_parent : with->second);
    }
    lesson.learner = std::make_unique<tune::Learner>(parents, all.rules.learn_at_most);
    if (lesson.learner->settled())
        conclude(entry, lesson, Entry::library);
}

bool is_composed(const Ask& ask) noexcept {
    constexpr uint64_t largest_predefined = 32;  // bytes
    if (reduces(ask.collective) || ask.bytes == 0)
        return false;
    const coll::Geometry geometry = coll::geometry_of(ask.type);
    return !geometry.dense() || geometry.size > largest_predefined;
}

void conclude(Entry& entry, Lesson& lesson, int32_t choice) noexcept {
    for (Stretch& stretch : lesson.stretches)
        if (stretch.choice == Stretch::learn)
            stretch.choice = choice;
    if (lesson.stretches.size() == 1)
        entry.choice = choice;
}

void end_block(Entry& entry, Lesson& lesson, const tune::Agreed& took, bool composed) {
    tune::Learner& learner = *lesson.learner;
    learner.took(took);
    const uint32_t choice = learner.race().choice();
    if (composed)
        conclude(entry, lesson, Entry::library);
    else if (learner.settled())
        conclude(entry, lesson, choice == 0 ? Entry::library : int32_t(lesson.candidates[choice]));
}

}  // namespace mpiric::wrap

// What is learnt, or known from a policy, about the calls of one collective and size class.
#include "coll/datatype.hpp"
#include "select/dispatching.hpp"

#include <algorithm>
#include <cstdlib>

namespace mpiric::select {
namespace {

/// Whether the rules let this key be learnt at all.
bool may_learn(const Tuning& all, const Knowledge& known, Collective collective) noexcept {
    const Rules& rules = all.rules;
    return rules.mode == Collectives::online && known.shape.ranks >= rules.learn_ranks &&
           (rules.learn_only >> uint32_t(collective) & 1) != 0 &&
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

// What a policy chose is obeyed at once; where it serves more calls than these, it meets the library's own.
constexpr uint64_t first_reproof = 64;

/// Calls for which what a policy chose holds. With forms that do not block nothing can meet anything in time.
uint64_t holds(const Tuning& all, Collective collective) noexcept {
    const bool may_change = all.rules.reprove && !(all.rules.reproducible && reduces(collective));
    return may_change && form_of(collective) == Form::blocking ? first_reproof : UINT64_MAX;
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
        if (part.rule)
            lesson.stretches.push_back({part.from, part.to, chosen(all, collective, part.rule->candidate),
                                        false, holds(all, collective)});
        else
            lesson.stretches.push_back({part.from, part.to, otherwise});
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
        if (at != tried.end() && found->second.learner->race().warmup_ratio(uint32_t(at - tried.begin())) >
                                     hopeless * std::abs(away))
            return true;
    }
    return false;
}

// A choice is asked again after four times the calls it took to find it, and then ever more rarely.
constexpr uint64_t first_doubt = 4, next_doubt = 8;

/// What the next calls of the class find without asking here: the same for all of it, or one stretch.
void show(Entry& entry, Lesson& lesson) noexcept {
    const std::vector<Stretch>& all = lesson.stretches;
    const auto is_library = [](const Stretch& one) { return one.choice == Entry::library; };
    entry.lesson = nullptr;
    entry.choice = std::all_of(all.begin(), all.end(), is_library) ? Entry::library : Entry::look;
    const auto held = std::find_if(all.begin(), all.end(),
                                   [](const Stretch& one) { return one.choice >= 0 && one.holds_until > 0; });
    if (held == all.end())
        return;
    lesson.held = *held;
    entry.lesson = &lesson;
    entry.choice = held->choice;
}

/// A choice holds for sizes within a quarter of those that it was learnt with, and for a while.
void split(std::vector<Stretch>& into, const Stretch& whole, const Lesson& lesson, uint64_t calls) {
    const uint64_t low = std::clamp(lesson.least_bytes - lesson.least_bytes / 4, whole.from, whole.to);
    const uint64_t high = std::clamp(lesson.most_bytes + lesson.most_bytes / 4 + 1, low, whole.to);
    const Stretch parts[] = {{whole.from, low, whole.choice, true, 0},
                             {low, high, whole.choice, true, calls * first_doubt},
                             {high, whole.to, whole.choice, true, 0}};
    for (const Stretch& part : parts)
        if (part.from < part.to)
            into.push_back(part);
}

/// Lets a stretch prove its choice again, one at a time; null while it is another's turn.
Lesson* doubt(const Tuning& all, Lesson& lesson, const Stretch& stretch, const Ask& ask, uint64_t calls) {
    if (!lesson.again) {
        lesson.again = std::make_unique<Lesson>();
        lesson.again->repeats = true;
        lesson.again->stretches.push_back({stretch.from, stretch.to, Stretch::learn});
        lesson.again->candidates = {all.catalogue.of(ask.collective).front(), uint32_t(stretch.choice)};
        lesson.again->learner = stretch.learnt
                                    ? std::make_unique<tune::Learner>(*lesson.learner, calls)
                                    : std::make_unique<tune::Learner>(calls, all.rules.learn_at_most);
    }
    return lesson.again->stretches.front().from == stretch.from ? lesson.again.get() : nullptr;
}

/// What a stretch has proved, once it has.
void take_verdict(Entry& entry, Lesson& lesson) {
    if (!lesson.again || lesson.again->stretches.front().choice == Stretch::learn)
        return;
    std::unique_ptr<Lesson> again = std::move(lesson.again);
    const Stretch verdict = again->stretches.front();
    bool of_policy = false;
    for (Stretch& stretch : lesson.stretches) {
        if (stretch.from != verdict.from)
            continue;
        stretch.choice = verdict.choice;
        stretch.holds_until = entry.calls * next_doubt;
        stretch.proved = of_policy = !stretch.learnt;
    }
    if (of_policy)
        lesson.proof = std::move(again);
    show(entry, lesson);
}

/// For so many calls, this one among them, a stretch is answered at a glance.
void hold(Entry& entry, Lesson& lesson, const Stretch& stretch, uint64_t calls) noexcept {
    lesson.held = stretch;
    lesson.held.holds_until = entry.calls + calls;
    entry.lesson = &lesson;
    entry.choice = stretch.choice >= 0 ? stretch.choice : Entry::library_for_now;
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
        show(entry, found->second);
    }
    lesson = &found->second;
    take_verdict(entry, *lesson);
    auto stretch = lesson->stretches.begin();
    while (ask.bytes >= stretch->to && stretch + 1 != lesson->stretches.end())
        ++stretch;
    const bool learns = stretch->choice == Stretch::learn;
    if (!learns && (stretch->choice < 0 || entry.calls < stretch->holds_until))
        return stretch->choice;
    Lesson* taught = learns ? lesson : doubt(all, *lesson, *stretch, ask, entry.calls);
    if (!taught)
        return stretch->choice;
    const bool alone = taught->stretches.size() == 1;  // else others would go on with its learner meanwhile
    if (const uint64_t calls = alone && taught->learner ? taught->learner->take_pause() : 0) {
        hold(entry, *lesson, *stretch, calls);
        return learns ? Entry::library : stretch->choice;
    }
    lesson = taught;
    return Stretch::learn;
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
    lesson.doubts = all.rules.reprove && form_of(ask.collective) == Form::blocking;
    lesson.learner = std::make_unique<tune::Learner>(parents, all.rules.learn_at_most);
    if (lesson.learner->decided())
        conclude(entry, lesson, Entry::library);
}

bool is_composed(const Ask& ask) noexcept {
    constexpr uint64_t largest_predefined = 32;  // bytes
    if (reduces(ask.collective) || ask.bytes == 0)
        return false;
    const coll::Geometry geometry = coll::geometry_of(ask.type);
    return !geometry.dense() || geometry.size > largest_predefined;
}

void conclude(Entry& entry, Lesson& lesson, int32_t choice) {
    std::vector<Stretch> all;
    for (Stretch stretch : lesson.stretches) {
        const bool open = stretch.choice == Stretch::learn;
        if (open)
            stretch.choice = choice;
        if (open && choice >= 0 && lesson.doubts)
            split(all, stretch, lesson, entry.calls);
        else
            all.push_back(stretch);
    }
    lesson.stretches.swap(all);
    if (!lesson.repeats)
        show(entry, lesson);
}

void end_block(Entry& entry, Lesson& lesson, const tune::Agreed& took, bool composed) {
    tune::Learner& learner = *lesson.learner;
    learner.end_block(took);
    const uint32_t choice = learner.race().choice();
    if (composed)
        conclude(entry, lesson, Entry::library);
    else if (learner.decided())
        conclude(entry, lesson, choice == 0 ? Entry::library : int32_t(lesson.candidates[choice]));
}

}  // namespace mpiric::select

// One collective call: which candidate answers it, and the answer.
#include "coll/datatype.hpp"
#include "coll/team.hpp"
#include "wrap/tuner.hpp"
#include "wrap/tuning.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>

namespace mpiric::wrap {
namespace {

using tune::Kind;
using world::library;

/// Calls on a communicator before one of ours is made beside it: short-lived ones pay nothing.
constexpr uint64_t settled_in = 12;

uint64_t now_ns() noexcept {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

/// While it lasts, what this thread calls goes straight to the library.
class Answering {
  public:
    explicit Answering(Thread& self) noexcept : self_(self) { self_.answering = true; }
    ~Answering() { self_.answering = false; }
    Answering(const Answering&) = delete;
    Answering& operator=(const Answering&) = delete;

  private:
    Thread& self_;
};

/// Communicator of our own beside the program's; null when there can be none, then on all ranks.
const world::Circle* circle_of(Space& space, MPI_Comm comm) noexcept {
    Beside& beside = space.knowledge->beside;
    if (beside.circle.size == 0 && !beside.refused)
        beside.refused = !world::make_circle(comm, beside.circle);
    return beside.circle.size > 0 ? &beside.circle : nullptr;
}

coll::Team* team_of(Space& space, MPI_Comm comm) noexcept {
    Beside& beside = space.knowledge->beside;
    if (!beside.asked_for_team) {
        beside.asked_for_team = true;
        if (const world::Circle* circle = circle_of(space, comm)) {
            beside.team = coll::Team::make(circle->comm);
            beside.team_number = ++tuning().serial;
        }
    }
    return beside.team;
}

/// One communicator for each algorithm of a library that looks at its variables when a communicator is made.
const world::Circle* alternative(Space& space, MPI_Comm comm, uint32_t candidate) {
    const auto [known, fresh] = space.knowledge->beside.alternatives.try_emplace(candidate);
    world::Circle& circle = known->second;
    if (fresh) {
        world::Settings& settings = tuning().settings[candidate];
        const bool applied = settings.apply();
        if (!world::make_circle(comm, circle))
            circle = {};
        if (applied)
            settings.restore();
    }
    return circle.size > 0 ? &circle : nullptr;
}

/// What is wrong on a communicator of ours is reported on the program's, to its handler.
int raised(MPI_Comm comm, int code) noexcept {
    if (code == MPI_SUCCESS)
        return code;
    library.Comm_call_errhandler(comm, code);
    return code;
}

bool commutes(const Ask& ask) noexcept {
    int commutative = 1;
    return !tune::reduces(ask.collective) ||
           (library.Op_commutative(ask.op, &commutative) == MPI_SUCCESS && commutative);
}

coll::Shape shape_of(const Ask& ask, coll::Team& team, const coll::Algorithm& algorithm) noexcept {
    coll::Shape shape;
    shape.collective = algorithm.collective;
    shape.layout = team.layout();
    shape.bytes = ask.all_bytes;
    if (shape.collective == coll::Collective::alltoall || shape.collective == coll::Collective::alltoallv) {
        coll::Call call{team, nullptr, nullptr, 0, 0, {}, {}, {}, {}, {}, {}, {}, ask.root};
        ask.fill(ask.arguments, call);
        shape.in_place = call.send == MPI_IN_PLACE;
    }
    if (!tune::reduces(ask.collective))
        return shape;
    const coll::Geometry geometry = coll::geometry_of(ask.type);
    shape.count = ask.count;
    shape.span = coll::span_of(geometry, MPI_Count(ask.count));
    shape.dense = geometry.dense();
    shape.commutative = ask.commutes;
    return shape;
}

/// Whether a candidate gives the right result for this call: the same answer on every rank.
bool serves(Space& space, const Ask& ask, uint32_t candidate) noexcept {
    const Tuning& all = tuning();
    if (!all.usable[candidate])
        return false;
    switch (all.catalogue[candidate].kind) {
    case Kind::library:
        return true;
    case Kind::switched:
        return ask.commutes;
    case Kind::own:
        break;
    }
    const coll::Algorithm* algorithm = all.algorithms[candidate];
    coll::Team* team = algorithm ? team_of(space, ask.comm) : nullptr;
    return team && coll::serves(*algorithm, shape_of(ask, *team, *algorithm));
}

int run_own(Space& space, const Ask& ask, uint32_t candidate) {
    coll::Call call{
        *space.knowledge->beside.team, nullptr, nullptr, 0, 0, {}, {}, {}, {}, {}, {}, {}, ask.root};
    ask.fill(ask.arguments, call);
    return raised(ask.comm, tuning().algorithms[candidate]->run(call));
}

int run_switched(Space& space, const Ask& ask, uint32_t candidate) {
    Tuning& all = tuning();
    if (all.scope == tune::Scope::communicator) {
        const world::Circle* circle = alternative(space, ask.comm, candidate);
        if (!circle)
            return ask.onward(ask.arguments, false, ask.comm);
        return raised(ask.comm, ask.onward(ask.arguments, true, circle->comm));
    }
    world::Settings& settings = all.settings[candidate];
    const bool applied = settings.apply();
    const int code = ask.onward(ask.arguments, false, ask.comm);
    if (applied)
        settings.restore();
    return code;
}

int run(Space& space, const Ask& ask, uint32_t candidate) {
    switch (serves(space, ask, candidate) ? tuning().catalogue[candidate].kind : Kind::library) {
    case Kind::switched:
        return run_switched(space, ask, candidate);
    case Kind::own:
        return run_own(space, ask, candidate);
    case Kind::library:
        break;
    }
    return ask.onward(ask.arguments, false, ask.comm);
}

/// Whether the rules let this key be learnt at all.
bool may_learn(const Tuning& all, const Knowledge& known, tune::Collective collective) noexcept {
    const Rules& rules = all.rules;
    return rules.mode == Collectives::online && known.shape.ranks >= rules.learn_ranks &&
           (rules.learn_only == 0 || rules.learn_only >> uint32_t(collective) & 1) &&
           !(rules.reproducible && tune::reduces(collective));
}

/// Index of what a policy names; `library` when it is not to be had here.
int32_t chosen(Tuning& all, tune::Collective collective, const std::string& name) {
    const int32_t candidate = all.catalogue.find(collective, name);
    if (candidate < 0 || all.catalogue[uint32_t(candidate)].kind == Kind::library ||
        !all.usable[uint32_t(candidate)])
        return Entry::library;
    const coll::Algorithm* own = all.algorithms[uint32_t(candidate)];
    if (all.rules.reproducible && tune::reduces(collective) && !(own && own->order == coll::Order::fixed))
        return Entry::library;
    return candidate;
}

/// The policy's word on a size class, and for the rest whether it is learnt.
Lesson begin_lesson(Tuning& all, const Knowledge& known, tune::Collective collective, uint32_t size_class) {
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
bool hopeless_nearby(const Knowledge& known, const Ask& ask, uint32_t candidate) {
    constexpr double hopeless =
        4;  // times the library's own, in the class next door; twice that in the one behind
    const int here = int(tune::class_of(ask.bytes));
    for (const int away : {-1, 1, -2, 2}) {
        const int there = here + away;
        if (there < 0 || there >= int(tune::class_count))
            continue;
        const auto found = known.lessons.find(lesson_key(ask.collective, uint32_t(there)));
        if (found == known.lessons.end() || !found->second.learner)
            continue;
        const std::vector<uint32_t>& tried = found->second.candidates;
        const auto at = std::find(tried.begin(), tried.end(), candidate);
        if (at != tried.end() && found->second.learner->race().first_ratio(uint32_t(at - tried.begin())) >
                                     hopeless * std::abs(away))
            return true;
    }
    return false;
}

void begin_learning(Space& space, Lesson& lesson, const Ask& ask) {
    Tuning& all = tuning();
    std::vector<int32_t> parents;
    std::unordered_map<int32_t, int32_t> number;
    for (const uint32_t candidate : all.catalogue.of(ask.collective)) {
        const int32_t parent = all.catalogue[candidate].parent;
        const auto with = number.find(parent);
        if ((parent >= 0 && with == number.end()) || !serves(space, ask, candidate) ||
            hopeless_nearby(*space.knowledge, ask, candidate))
            continue;
        number[int32_t(candidate)] = int32_t(lesson.candidates.size());
        lesson.candidates.push_back(candidate);
        parents.push_back(parent < 0 ? tune::Race::no_parent : with->second);
    }
    lesson.learner = std::make_unique<tune::Learner>(parents, all.rules.learn_at_most);
}

/// Whether other ranks may describe the same data by another type and count: algorithms that cut messages
/// into pieces of so many elements do not bear that.
bool is_composed(const Ask& ask) noexcept {
    constexpr uint64_t largest_predefined = 32;  // bytes
    if (tune::reduces(ask.collective) || ask.bytes == 0)
        return false;
    const coll::Geometry geometry = coll::geometry_of(ask.type);
    return !geometry.dense() || geometry.size > largest_predefined;
}

/// The stretches of a lesson that were being learnt have their final choice.
void conclude(Entry& entry, Lesson& lesson, int32_t choice) noexcept {
    for (Stretch& stretch : lesson.stretches)
        if (stretch.choice == Stretch::learn)
            stretch.choice = choice;
    if (lesson.stretches.size() == 1)
        entry.choice = choice;
}

/// Runs a step of a lesson and, at the end of a block, lets the ranks agree on what it took.
int learn(Space& space, Entry& entry, Lesson& lesson, const Ask& ask) {
    tune::Learner& learner = *lesson.learner;
    const tune::Step step = learner.next();
    const uint32_t candidate = lesson.candidates[step.candidate];
    if (!step.measured)
        return run(space, ask, candidate);
    lesson.composed = lesson.composed || is_composed(ask);
    if (step.alone)
        world::agree_on_largest(space.knowledge->beside.circle, {});
    const uint64_t begin = now_ns();
    const int code = run(space, ask, candidate);
    const uint64_t end = now_ns();
    if (lesson.last_end_ns)
        lesson.between_ns += begin - lesson.last_end_ns;
    lesson.inside_ns += end - begin;
    lesson.last_end_ns = end;
    if (!step.ends_block)
        return code;
    std::array<uint64_t, 4> agreed = {lesson.inside_ns, lesson.between_ns, lesson.agreeing_ns,
                                      lesson.composed};
    world::agree_on_largest(space.knowledge->beside.circle, agreed);
    learner.took({agreed[0], agreed[1], agreed[2]});
    lesson.inside_ns = lesson.between_ns = lesson.last_end_ns = 0;
    lesson.agreeing_ns = now_ns() - end;
    if (agreed[3])
        conclude(entry, lesson, Entry::library);
    else if (learner.settled())
        conclude(entry, lesson,
                 learner.race().choice() == 0 ? Entry::library
                                              : int32_t(lesson.candidates[learner.race().choice()]));
    return code;
}

/// Another candidate for every call, the same on every rank.
uint32_t restless_choice(const Tuning& all, const Space& space, tune::Collective collective) {
    const std::vector<uint32_t> candidates = all.catalogue.of(collective);
    uint64_t mixed = space.knowledge->calls * 0x9E3779B97F4A7C15ull;
    mixed ^= mixed >> 29;
    return candidates[mixed % candidates.size()];
}

int32_t choice_for(Tuning& all, Space& space, Entry& entry, Lesson*& lesson, const Ask& ask) {
    const uint32_t size_class = tune::class_of(ask.bytes);
    const uint32_t key = lesson_key(ask.collective, size_class);
    Knowledge& known = *space.knowledge;
    auto found = known.lessons.find(key);
    if (found == known.lessons.end()) {
        found = known.lessons.emplace(key, begin_lesson(all, known, ask.collective, size_class)).first;
        if (found->second.stretches.size() == 1 && found->second.stretches[0].choice != Stretch::learn)
            entry.choice = found->second.stretches[0].choice;
    }
    lesson = &found->second;
    for (const Stretch& stretch : lesson->stretches)
        if (ask.bytes < stretch.to)
            return stretch.choice;
    return lesson->stretches.back().choice;
}

}  // namespace

int answer(Space& space, Entry& entry, Ask& ask) noexcept {
    Tuning& all = tuning();
    const Answering answering(thread);
    ++space.knowledge->calls;
    ask.commutes = commutes(ask);
    if (all.rules.mode == Collectives::restless)
        return run(space, ask, restless_choice(all, space, ask.collective));
    Lesson* lesson = nullptr;
    int32_t choice = entry.choice;
    if (choice == Entry::look)
        choice = choice_for(all, space, entry, lesson, ask);
    if (choice == Entry::library)
        return ask.onward(ask.arguments, false, ask.comm);
    // A call that no candidate may serve teaches nothing about the others.
    const bool beside = choice >= 0 && all.scope == tune::Scope::process &&
                        all.catalogue[uint32_t(choice)].kind == Kind::switched;
    if ((space.knowledge->calls <= settled_in && !beside) || !ask.commutes)
        return ask.onward(ask.arguments, false, ask.comm);
    if (choice >= 0)
        return run(space, ask, uint32_t(choice));
    if (!lesson || !circle_of(space, ask.comm))
        return ask.onward(ask.arguments, false, ask.comm);
    if (!lesson->learner)
        begin_learning(space, *lesson, ask);
    return learn(space, entry, *lesson, ask);
}

}  // namespace mpiric::wrap

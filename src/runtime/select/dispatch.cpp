// One collective call: which candidate answers it, and the answer.
#include "coll/barrier/stages.hpp"
#include "coll/datatype.hpp"
#include "coll/reduction.hpp"
#include "coll/team.hpp"
#include "select/dispatching.hpp"
#include "system/seat.hpp"

#include <algorithm>
#include <ctime>

namespace mpiric::select {
namespace {

using tune::Kind;
using world::library;

coll::Team* team_of(Space& space, MPI_Comm comm) noexcept {
    ShadowComms& shadows = space.knowledge->shadows;
    if (!shadows.asked_for_team) {
        shadows.asked_for_team = true;
        if (const world::ShadowComm* shadow = shadow_comm(space, comm))
            shadows.team = coll::Team::make(shadow->comm, coll::split_by_memory, system::own_seat());
    }
    return shadows.team;
}

/// A communicator of ours for the ranks of one of the program's.
bool make_shadow(const Space& space, MPI_Comm comm, world::ShadowComm& shadow) noexcept {
    return space.knowledge->of_world ? world::make_shadow_comm(tuning().world.comm, shadow)
                                     : world::make_shadow_comm_quietly(comm, shadow);
}

/// One communicator for each algorithm of a library that looks at its variables when a communicator is made.
const world::ShadowComm* alternative(Space& space, MPI_Comm comm, uint32_t candidate) {
    const auto [known, fresh] = space.knowledge->shadows.alternatives.try_emplace(candidate);
    world::ShadowComm& shadow = known->second;
    if (fresh) {
        world::Settings& settings = tuning().settings[candidate];
        const bool applied = settings.apply();
        if (!make_shadow(space, comm, shadow))
            shadow = {};
        if (applied)
            settings.restore();
    }
    return shadow.size > 0 ? &shadow : nullptr;
}

/// What is wrong on a communicator of ours is reported on the program's, to its handler.
int raised(MPI_Comm comm, int code) noexcept {
    if (code == MPI_SUCCESS)
        return code;
    library.Comm_call_errhandler(comm, code);
    return code;
}

coll::Shape shape_of(const Ask& ask, coll::Team& team, const coll::Algorithm& algorithm) noexcept {
    coll::Shape shape;
    shape.collective = algorithm.collective;
    shape.layout = team.layout();
    shape.bytes = ask.all_bytes;
    if (shape.collective == Collective::alltoall || shape.collective == Collective::alltoallv) {
        coll::Call call{team, nullptr, nullptr, 0, 0, {}, {}, {}, {}, {}, {}, {}, ask.root};
        ask.fill(ask.arguments, call);
        shape.in_place = call.send == MPI_IN_PLACE;
    }
    if (!reduces(ask.collective))
        return shape;
    const coll::Geometry geometry = coll::geometry_of(ask.type);
    shape.count = ask.count;
    shape.span = coll::span_of(geometry, MPI_Count(ask.count));
    shape.dense = geometry.dense();
    shape.commutative = ask.commutes;
    return shape;
}

int run_own(Space& space, const Ask& ask, uint32_t candidate) {
    coll::Call call{
        *space.knowledge->shadows.team, nullptr, nullptr, 0, 0, {}, {}, {}, {}, {}, {}, {}, ask.root};
    ask.fill(ask.arguments, call);
    return raised(ask.comm, tuning().algorithms[candidate]->run(call));
}

int run_switched(Space& space, const Ask& ask, uint32_t candidate) {
    Tuning& all = tuning();
    if (all.catalogue[candidate].scope == tune::Scope::communicator) {
        const world::ShadowComm* shadow = alternative(space, ask.comm, candidate);
        if (!shadow)
            return ask.onward(ask.arguments, false, ask.comm);
        return raised(ask.comm, ask.onward(ask.arguments, true, shadow->comm));
    }
    world::Settings& settings = all.settings[candidate];
    const bool applied = settings.apply();
    const int code = ask.onward(ask.arguments, false, ask.comm);
    if (applied)
        settings.restore();
    return code;
}

}  // namespace

uint64_t now_ns() noexcept {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

const world::ShadowComm* shadow_comm(Space& space, MPI_Comm comm) noexcept {
    ShadowComms& shadows = space.knowledge->shadows;
    if (shadows.shadow.size == 0 && !shadows.refused)
        shadows.refused = !make_shadow(space, comm, shadows.shadow);
    return shadows.shadow.size > 0 ? &shadows.shadow : nullptr;
}

bool commutes(const Ask& ask) noexcept {
    int commutative = 1;
    return !reduces(ask.collective) ||
           (library.Op_commutative(ask.op, &commutative) == MPI_SUCCESS && commutative);
}

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
    if (!algorithm || (reduces(ask.collective) && !coll::can_reduce(ask.op, ask.type)))
        return false;
    coll::Team* team = team_of(space, ask.comm);
    return team && coll::serves(*algorithm, shape_of(ask, *team, *algorithm), all.rules.scratch_bytes);
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

namespace {

bool belongs_to_process(const tune::Candidate& candidate) noexcept {
    return candidate.kind == Kind::switched && candidate.scope == tune::Scope::process;
}

void begin_together(Space& space, const Ask& ask) {
    if (const coll::Team* team = team_of(space, ask.comm))
        coll::meet(*team);
    else
        world::allreduce_max(space.knowledge->shadows.shadow, {});
}

// What a settled call of another candidate takes before it begins, more than one of the library's: some 500
// instructions (benchmarks/collective_cost.py), and reads of what the program's ranks have not touched since.
constexpr uint64_t coming_there_ns = 100;

/// Runs a step of a lesson and, at the end of a block, lets the ranks agree on what it took.
int learn(Space& space, Entry& entry, Lesson& lesson, const Ask& ask) {
    const tune::Step step = lesson.learner->next();
    const uint32_t candidate = lesson.candidates[step.candidate];
    if (!step.measured)
        return run(space, ask, candidate);
    lesson.composed = lesson.composed || is_composed(ask);
    lesson.least_bytes = std::min(lesson.least_bytes, ask.bytes);
    lesson.most_bytes = std::max(lesson.most_bytes, ask.bytes);
    if (step.rendezvous) {
        const uint64_t here = now_ns();
        begin_together(space, ask);
        lesson.meeting_ns += now_ns() - here;
    }
    const uint64_t begin = now_ns();
    const int code = run(space, ask, candidate);
    const uint64_t end = now_ns();
    if (lesson.last_end_ns)
        lesson.between_ns += begin - lesson.last_end_ns;
    lesson.inside_ns += end - begin + (candidate == lesson.candidates.front() ? 0 : coming_there_ns);
    lesson.last_end_ns = end;
    if (!step.ends_block)
        return code;
    std::array<uint64_t, 5> agreed = {lesson.inside_ns, lesson.between_ns, lesson.agreeing_ns,
                                      ~lesson.meeting_ns, lesson.composed};
    world::allreduce_max(space.knowledge->shadows.shadow, agreed);
    lesson.inside_ns = lesson.between_ns = lesson.meeting_ns = lesson.last_end_ns = 0;
    lesson.agreeing_ns = now_ns() - end;
    end_block(entry, lesson, {agreed[0], agreed[1], agreed[2], ~agreed[3]}, agreed[4] != 0);
    return code;
}

}  // namespace

int answer(Space& space, Entry& entry, Ask& ask) noexcept {
    Tuning& all = tuning();
    const Answering answering(thread);
    ++space.knowledge->calls;
    ask.commutes = commutes(ask);
    if (all.rules.mode == Collectives::restless)
        return run(space, ask, restless_choice(all, space.knowledge->calls, ask.collective));
    Lesson* lesson = nullptr;
    int32_t choice = entry.choice_at(ask.bytes);
    if (choice == Entry::look)
        choice = choice_for(all, *space.knowledge, space.knowledge->lessons, entry, lesson, ask);
    if (choice == Entry::library)
        return ask.onward(ask.arguments, false, ask.comm);
    // What needs no communicator of ours serves from the first call on; so does an order of reduction that
    // must not depend on how many calls others have needed to be learnt.
    const bool at_once = choice >= 0 && (belongs_to_process(all.catalogue[uint32_t(choice)]) ||
                                         (all.rules.reproducible && reduces(ask.collective)));
    // A call that no candidate may serve teaches nothing about the others.
    if ((space.knowledge->calls <= settled_in && !at_once) || !ask.commutes)
        return ask.onward(ask.arguments, false, ask.comm);
    if (choice >= 0)
        return run(space, ask, uint32_t(choice));
    if (!lesson || !shadow_comm(space, ask.comm))
        return ask.onward(ask.arguments, false, ask.comm);
    if (!lesson->learner)
        begin_learning(space, space.knowledge->lessons, entry, *lesson, ask);
    return learn(space, entry, *lesson, ask);
}

}  // namespace mpiric::select

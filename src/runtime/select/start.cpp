// Collectives that do not block, nonblocking and persistent ones: which algorithm of the library carries them
// out.
//
// Starting one may wait for nobody, so nothing is made and nothing agreed on there: calls are counted, and
// their times from start to completion summed up. The ranks agree in the next blocking collective of the
// program on the same communicator; until then further calls are the library's.
#include "select/dispatching.hpp"
#include "select/timed.hpp"

#include <new>

namespace mpiric::select {
namespace {

/// Agreements for which some rank has calls under way, in a row: then the program does not wait for them, and
/// there is little to win.
constexpr uint32_t most_put_off = 32;

int learn_start(Space& space, Entry& entry, Lesson& lesson, const Ask& ask) {
    if (lesson.block_full)
        return ask.onward(ask.arguments, false, ask.comm);
    const tune::Step step = lesson.learner->next();
    const uint32_t candidate = lesson.candidates[step.candidate];
    if (!step.measured)
        return run(space, ask, candidate);
    lesson.composed = lesson.composed || is_composed(ask);
    const uint64_t begin = now_ns();
    const int code = run(space, ask, candidate);
    if (code == MPI_SUCCESS)
        time_request(*ask.request, lesson, begin, form_of(ask.collective) == Form::persistent);
    if (step.ends_block) {
        lesson.block_full = true;
        space.started->full.emplace_back(&entry, &lesson);
        space.agrees_next = true;
    }
    return code;
}

}  // namespace

Entry* entry_of_started(Space& space, Collective collective, uint32_t size_class) noexcept {
    if (!space.started)
        space.started.reset(new (std::nothrow) Started);
    if (!space.started)
        return nullptr;
    return &space.started->entries[uint32_t(collective) - blocking_count][size_class];
}

int start(Space& space, Entry& entry, Ask& ask) noexcept {
    Tuning& all = tuning();
    const Answering answering(thread);
    Started& started = *space.started;
    ++started.calls;
    ask.commutes = commutes(ask);
    if (all.rules.mode == Collectives::restless)
        return run(space, ask, restless_choice(all, started.calls, ask.collective));
    Lesson* lesson = nullptr;
    int32_t choice = entry.choice_at(ask.bytes);
    if (choice == Entry::look)
        choice = choice_for(all, *space.knowledge, started.lessons, entry, lesson, ask);
    if (choice == Entry::library || !ask.commutes)
        return ask.onward(ask.arguments, false, ask.comm);
    if (choice >= 0)
        return run(space, ask, uint32_t(choice));
    if (!lesson || started.calls <= settled_in)
        return ask.onward(ask.arguments, false, ask.comm);
    if (!lesson->learner)
        begin_learning(space, started.lessons, entry, *lesson, ask);
    return learn_start(space, entry, *lesson, ask);
}

void agree_on_started(Space& space, MPI_Comm comm) noexcept {
    const Answering answering(thread);
    std::vector<std::pair<Entry*, Lesson*>> full;
    full.swap(space.started->full);
    space.agrees_next = false;
    const world::ShadowComm* shadow = shadow_comm(space, comm);
    for (const auto& [entry, lesson] : full) {
        const uint64_t begin = now_ns();
        std::array<uint64_t, 4> agreed = {lesson->inside_ns, lesson->agreeing_ns, lesson->composed,
                                          lesson->under_way};
        if (!shadow || !world::allreduce_max(*shadow, agreed)) {
            conclude(*entry, *lesson, Entry::library);
            continue;
        }
        lesson->agreeing_ns += now_ns() - begin;
        if (agreed[3] == 0) {
            lesson->block_full = false;
            lesson->inside_ns = lesson->agreeing_ns = lesson->put_off = 0;
            end_block(*entry, *lesson, {agreed[0], 0, agreed[1]}, agreed[2] != 0);
        } else if (++lesson->put_off == most_put_off) {
            conclude(*entry, *lesson, Entry::library);
        } else {
            space.started->full.emplace_back(entry, lesson);
            space.agrees_next = true;
        }
    }
}

}  // namespace mpiric::select

// What answering a call and starting one have in common.
#pragma once

#include "select/tuner.hpp"
#include "select/tuning.hpp"

namespace mpiric::select {

/// Calls on a communicator before one of ours is made beside it, or anything is learnt on it alone:
/// short-lived ones pay nothing.
inline constexpr uint64_t settled_in = 12;

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

uint64_t now_ns() noexcept;

/// Communicator of our own beside the program's; null when there can be none, then on all ranks. Collective
/// where there is none yet.
const world::ShadowComm* shadow_comm(Space& space, MPI_Comm comm) noexcept;

bool commutes(const Ask& ask) noexcept;

/// Whether other ranks may describe the same data by another type and count: algorithms that cut messages
/// into pieces of so many elements do not bear that.
bool is_composed(const Ask& ask) noexcept;

/// Whether a candidate gives the right result for this call: the same answer on every rank.
bool serves(Space& space, const Ask& ask, uint32_t candidate) noexcept;

/// Lets a candidate answer; the library when it cannot serve this call.
int run(Space& space, const Ask& ask, uint32_t candidate);

/// What a key's calls get: a candidate, `Entry::library` or `Stretch::learn`, then with its lesson.
int32_t choice_for(Tuning& all, const Knowledge& known, Lessons& lessons, Entry& entry, Lesson*& lesson,
                   const Ask& ask);

/// Another candidate for every call, the same on every rank.
uint32_t restless_choice(const Tuning& all, uint64_t calls, Collective collective);

/// Lines the candidates up that serve this call; the choice is final at once when there is only one.
void begin_learning(Space& space, const Lessons& lessons, Entry& entry, Lesson& lesson, const Ask& ask);

/// What the ranks agreed on at the end of a block; makes the choice final when it is known.
void end_block(Entry& entry, Lesson& lesson, const tune::Agreed& took, bool composed);

/// The stretches of a lesson that were being learnt have their final choice.
void conclude(Entry& entry, Lesson& lesson, int32_t choice);

}  // namespace mpiric::select

// Who answers a collective call of the program: the library, one of its other algorithms, or one of ours.
//
// Every rank of a communicator takes the same decision for the same call, because it follows only from what
// MPI makes equal on all of them (docs/concepts/collectives.md).
#pragma once

#include "base/collective.hpp"
#include "base/options.hpp"
#include "base/thread.hpp"
#include "coll/algorithm.hpp"
#include "tune/candidate.hpp"
#include "tune/learner.hpp"
#include "tune/policy.hpp"
#include "tune/shape.hpp"
#include "tune/size_class.hpp"
#include "world/agreement.hpp"
#include "world/control.hpp"
#include "world/datatypes.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mpiric::select {

/// One call of the program, with its arguments behind it.
struct Ask {
    Collective collective;
    MPI_Comm comm;
    uint64_t bytes;        ///< the size that policies speak of
    uint64_t all_bytes;    ///< the size that our algorithms speak of
    uint64_t count;        ///< reductions: elements
    MPI_Datatype type;     ///< reductions
    MPI_Op op;             ///< reductions
    int root;              ///< 0 where there is none
    MPI_Request* request;  ///< forms that do not block
    bool commutes;         ///< set by answer() and start(); true where nothing is reduced
    const void* arguments;
    int (*onward)(const void* arguments, bool to_library,
                  MPI_Comm comm);  ///< what lies behind, on a communicator
    void (*fill)(const void* arguments, coll::Call& call);
};

struct Lesson;

/// How calls of one size class are answered.
struct Entry {
    static constexpr int32_t library = -1, look = -2, library_for_now = -4;
    int32_t choice = look;  ///< a candidate; `look`: not final, or not the same for the whole class
    uint64_t calls = 0;
    const Lesson* lesson = nullptr;  ///< that says how far the choice holds; null: everywhere, for good

    /// The choice, or `look` where it is not known to hold.
    int32_t choice_at(uint64_t bytes) const noexcept;
};

/// One stretch of the sizes in a class.
struct Stretch {
    static constexpr int32_t learn = -3;
    uint64_t from, to;
    int32_t choice;
    bool learnt = choice == learn;
    /// Calls of the key after which the choice has to prove itself again. 0: it was learnt with other sizes.
    uint64_t holds_until = UINT64_MAX;
    bool proved = false;  ///< a policy made the choice, and it has proved itself here, or has not
};

/// What is behind an entry that is not final.
struct Lesson {
    std::vector<Stretch> stretches;
    std::vector<uint32_t> candidates;  ///< of the learner, by its numbers
    std::unique_ptr<tune::Learner> learner;
    uint64_t inside_ns = 0, between_ns = 0, meeting_ns = 0, agreeing_ns = 0,
             last_end_ns = 0;                           ///< of the block under way
    uint64_t least_bytes = UINT64_MAX, most_bytes = 0;  ///< of measured calls
    Stretch held{0, 0, Entry::library};                 ///< for which the entry's choice holds
    std::unique_ptr<Lesson> again;  ///< whether the choice for one of the stretches holds there
    std::unique_ptr<Lesson> proof;  ///< the last such of what a policy chose
    bool repeats = false;           ///< it is another's `again`
    bool doubts = false;            ///< choices have to prove themselves again: of the forms that block
    bool composed = false;          ///< a type was seen that other ranks may describe otherwise
    bool block_full = false;        ///< what is measured has all been started
    uint32_t under_way = 0;         ///< measured calls that have not completed
    uint32_t put_off = 0;           ///< agreements that came too early for some rank
    uint64_t calls = 0;             ///< of a form that does not block, when its communicator is gone
};

inline int32_t Entry::choice_at(uint64_t bytes) const noexcept {
    if (!lesson)
        return choice;
    const Stretch& held = lesson->held;
    if (bytes < held.from || held.to <= bytes || calls >= held.holds_until)
        return look;
    return choice == library_for_now ? library : choice;
}

/// What we made beside the program's communicators of the same ranks in the same order. Blocking collectives
/// on them come in one order on all ranks, or the program could wait for ever with the library alone; so one
/// set serves them all. Nothing that starts an operation and completes it later may use it.
struct ShadowComms {
    bool refused = false;  ///< there is no communicator for our own use
    world::ShadowComm shadow;
    coll::Team* team = nullptr;
    bool asked_for_team = false;
    std::unordered_map<uint32_t, world::ShadowComm> alternatives;  ///< made under a candidate's settings
};

/// By collective and class.
using Lessons = std::unordered_map<uint32_t, Lesson>;

/// What is known about the communicators with the same ranks in the same order.
struct Knowledge {
    uint64_t identity = 0;  ///< by which it is found
    tune::Shape shape;
    int rank = 0;
    uint32_t spaces = 0;    ///< of live communicators
    bool of_world = false;  ///< as the ranks of the world are, and only one thread makes communicators
    bool stays = false;     ///< what lies beside outlives them
    uint64_t calls = 0;     ///< that were not answered at a glance
    ShadowComms shadows;
    std::array<std::array<Entry, tune::class_count>, blocking_count> entries;
    Lessons lessons;
};

/// What is known about the forms that do not block, on one communicator: their calls have an order only
/// there.
struct Started {
    uint64_t calls = 0;
    std::array<std::array<Entry, tune::class_count>, collective_count - blocking_count> entries;
    Lessons lessons;
    std::vector<std::pair<Entry*, Lesson*>> full;  ///< whose block has ended, and the ranks have not agreed
};

/// One communicator of the program.
struct Space {
    Knowledge* knowledge = nullptr;
    std::shared_ptr<Knowledge> keeps;
    int rank = 0, size = 0;
    std::unique_ptr<Started> started;  ///< once a form that does not block was called
    bool agrees_next = false;          ///< there is something to agree on in the next call that blocks
};

/// Begins in MPI_Init, collectively over the world; before that and without it nothing is tuned.
void begin_tuning(const Options& options, int thread_level, bool was_spawned) noexcept;

/// Before MPI_Finalize, collectively over the world: writes what was learnt.
void end_tuning() noexcept;

/// The program gives a communicator back; collective over it.
void forget_space(MPI_Comm comm) noexcept;

struct RememberedSpace {
    MPI_Comm comm;
    uint32_t generation;
    Space* space;
};
inline constexpr uint32_t remembered_spaces_count = 16;
/// By a few bits of the handle: programs call on rows and columns in turns.
extern thread_local constinit RememberedSpace remembered_spaces[remembered_spaces_count];

inline RememberedSpace& remembered_space(MPI_Comm comm) noexcept {
    return remembered_spaces[world::cache_index(comm)];
}

Space* find_space(MPI_Comm comm) noexcept;

/// Null for communicators that are left alone.
inline Space* space_of(MPI_Comm comm) noexcept {
    const RememberedSpace& known = remembered_space(comm);
    if (known.comm == comm && known.generation == world::generation.load(std::memory_order_acquire))
        [[likely]]
        return known.space;
    return find_space(comm);
}

/// A blocking call whose entry did not say `library`.
int answer(Space& space, Entry& entry, Ask& ask) noexcept;

/// The entry of a form that does not block; null when memory is short.
Entry* entry_of_started(Space& space, Collective collective, uint32_t size_class) noexcept;

/// The same as answer() for the forms that do not block.
int start(Space& space, Entry& entry, Ask& ask) noexcept;

/// In a blocking collective of the program on the communicator: the ranks agree on how long the calls took
/// that have completed since.
void agree_on_started(Space& space, MPI_Comm comm) noexcept;

/// The learned policy as spec/formats/policy.md describes it; the keys of the communicators whose rank 0 this
/// is.
/// The date and the kind of CPU, as lines of the learned policy.
std::string where_and_when();

std::string learned_keys(const std::vector<std::shared_ptr<Knowledge>>& known,
                         const tune::Catalogue& catalogue);

}  // namespace mpiric::select

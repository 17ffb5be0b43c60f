#include "symbols/interception.hpp"

#include "base/say.hpp"
#include "base/thread.hpp"
#include "files/deferred/deferred.hpp"
#include "files/elsewhere/elsewhere.hpp"
#include "files/posix.hpp"
#include "marks/mark.hpp"
#include "order/substitution.hpp"
#include "profile/context.hpp"
#include "symbols/next.hpp"
#include "symbols/wrapper.hpp"
#include "world/library.hpp"
#include "wrap/collectives.hpp"

#include <atomic>
#include <cstring>
#include <unistd.h>

// Two slots per function, MPI_ then PMPI_, then those of the POSIX names; filled in by the assembler with
// first calls.
extern "C" [[gnu::visibility("hidden")]] void* mpiric_slots[];
extern "C" [[gnu::visibility("hidden")]] void* const mpiric_posix_first[];
extern "C" [[gnu::visibility("hidden")]] void* mpiric_resolve(uint32_t index);

namespace mpiric::symbols {

constinit NextFunction next_functions[function_count];

namespace {

constexpr const char* profiling_names[function_count] = {
#define MPIRIC_FUNCTION(name, ...) "P" #name,
#include "symbols/functions.inc"
#undef MPIRIC_FUNCTION
};

/// What this process does: nothing, what tuning, marks and another order of ranks need, or recording, with or
/// without these.
enum class Mode : uint8_t { undecided, aside, partly, recording };
constinit std::atomic<Mode> mode{Mode::undecided};
constinit SpinLock deciding, resolving;
constinit std::atomic<bool> completions_watched{false}, everything_watched{false};

bool acts_on_files() noexcept { return *runtime.options.file_hints || *runtime.options.file_layouts; }
constinit bool posix_watched = false;

bool tunes() noexcept { return runtime.options.collectives != Collectives::off; }
bool reorders() noexcept { return *runtime.options.rank_order || *runtime.options.honour_reorder; }

/// Whether output is held back, which calls of MPI must know of.
bool defers() noexcept { return files::deferred::wanted(runtime.options); }

/// Whether files are made elsewhere, from the beginning of MPI on.
bool makes_elsewhere() noexcept { return files::elsewhere::wanted(runtime.options); }

/// Whether there is something to do in this process, and the library is of our family.
Mode decide() noexcept {
    runtime.options = read_options();
    if (!*runtime.options.record_dir && !tunes() && !reorders() && !*runtime.options.mark_out &&
        !acts_on_files() && !defers() && !makes_elsewhere())
        return Mode::aside;
    if (!world::family_fits()) {
        say_once("nothing is recorded, tuned or reordered: this is the runtime for another family of MPI "
                 "libraries than",
                 world::version_text());
        return Mode::aside;
    }
    world::bind();
    if (reorders())
        order::stand_before_own_calls();
    return *runtime.options.record_dir ? Mode::recording : Mode::partly;
}

/// Where the tuner must know of a call although nothing is recorded: the beginning, the end, and handles
/// given back.
bool matters_to_tuning(Function function) noexcept {
    switch (function) {
    case Function::MPI_Init:
    case Function::MPI_Init_thread:
    case Function::MPI_Finalize:
    case Function::MPI_Comm_free:
    case Function::MPI_Comm_disconnect:
    case Function::MPI_Type_free:
        return true;
    default:
        return false;
    }
}

/// Calls before which a process has no MPI.
bool begins_mpi(Function function) noexcept {
    return function == Function::MPI_Init || function == Function::MPI_Init_thread ||
           function == Function::MPI_Session_init;
}

/// Calls after which a process may have no MPI any more.
bool ends_mpi(Function function) noexcept {
    return function == Function::MPI_Finalize || function == Function::MPI_Session_finalize;
}

bool leaves_mpi(Function function) noexcept { return ends_mpi(function) || function == Function::MPI_Abort; }

/// Where marks must know of a call: the beginning and the end, and, unless only their times are asked for,
/// what is counted, what makes and frees handles, and what may call either of these itself.
bool matters_to_marks(Function function) noexcept {
    if (begins_mpi(function) || leaves_mpi(function))
        return true;
    return marks::only_times != runtime.options.mark &&
           (function == Function::MPI_Type_free || function == Function::MPI_Request_free ||
            watched_by_marks(function));
}

/// Where hints, layouts and inputs must know of a call: MPI-IO's open, the beginning and the end of what is
/// laid out, and the end of sessions, which broadcast nothing.
bool matters_to_files(Function function) noexcept {
    if (function == Function::MPI_File_open)
        return *runtime.options.file_hints;
    if (function == Function::MPI_Session_finalize && *runtime.options.broadcast)
        return true;
    return *runtime.options.file_layouts && (begins_mpi(function) || ends_mpi(function));
}

/// The rest of what the tuner must know of, while it takes the times of requests.
bool handles_requests(Function function) noexcept {
    switch (function) {
    case Function::MPI_Start:
    case Function::MPI_Startall:
    case Function::MPI_Wait:
    case Function::MPI_Waitall:
    case Function::MPI_Waitany:
    case Function::MPI_Waitsome:
    case Function::MPI_Test:
    case Function::MPI_Testall:
    case Function::MPI_Testany:
    case Function::MPI_Testsome:
    case Function::MPI_Request_free:
        return true;
    default:
        return false;
    }
}

/// Makes the tuner the next function of a collective.
void let_tuner_follow(uint32_t function) noexcept {
    const NextFunction tuner = wrap::tuned(Function(function));
    if (!tunes() || !tuner.next)
        return;
    wrap::untuned[function] = next_functions[function];
    next_functions[function] = tuner;
}

/// What a slot leads to; null: straight on.
void* leads_to(Mode now, uint32_t function, bool profiling) noexcept {
    const auto wanted = [&](Function called) {
        return (tunes() && matters_to_tuning(called)) ||
               (reorders() && (called == Function::MPI_Init || called == Function::MPI_Init_thread)) ||
               (*runtime.options.mark_out && matters_to_marks(called)) || matters_to_files(called) ||
               ((defers() || makes_elsewhere()) && begins_mpi(called)) ||
               (completions_watched && handles_requests(called)) ||
               (everything_watched && family_of(called) != Family::local);
    };
    if (now == Mode::aside || (now == Mode::partly && !wanted(Function(function))))
        return nullptr;
    const Wrapper wrapper = wrapper_of(Function(function));
    return profiling ? wrapper.by_profiling_name : wrapper.by_name;
}

Mode decided(Thread& self) noexcept {
    const Mode known = mode.load(std::memory_order_acquire);
    if (known != Mode::undecided)
        return known;
    if (self.depth > 0)
        return Mode::aside;  // the library calls itself while it is being asked who it is
    const Held held(deciding, true);
    if (mode.load(std::memory_order_acquire) == Mode::undecided) {
        const Inside inside(self);
        show_what_the_library_has();
        mode.store(decide(), std::memory_order_release);
    }
    return mode.load(std::memory_order_acquire);
}

/// As the dynamic linker ends a program that calls what is not following.
[[noreturn]] void missing(const char* name) noexcept {
    say_once("symbol lookup error: undefined symbol", name);
    _exit(127);
}

const char* name_of(uint32_t slot) noexcept { return profiling_names[slot / 2] + (slot % 2 != 0 ? 0 : 1); }

/// Where a slot leads for a target. Above a stand-in that is its entrance, which passes the program's calls
/// on to the target: what the library underneath calls comes here too, and must reach no wrapper.
void* through_stand_in(uint32_t slot, const void* target) noexcept {
    const world::StandIn* below = slot < 2 * function_count ? world::stand_in() : nullptr;
    if (!below)
        return const_cast<void*>(target);
    below->lead(name_of(slot), const_cast<void*>(target));
    return below->entrance(name_of(slot));
}

void store(uint32_t slot, const void* target) noexcept {
    __atomic_store_n(&mpiric_slots[slot], through_stand_in(slot, target), __ATOMIC_RELEASE);
}

void* posix_target(uint32_t at) noexcept {
    void* wrapper = posix_watched ? files::posix_wrapper(at) : nullptr;
    return wrapper ? wrapper : files::next_posix(at);
}

bool is_found(uint32_t function) noexcept {
    return __atomic_load_n(&next_functions[function].next, __ATOMIC_ACQUIRE) != nullptr;
}

/// Finds the next definition of a function, with the tuner and the order of ranks before it where they are at
/// work. False where a stand-in has none.
bool find(uint32_t slot, Mode now) noexcept {
    const uint32_t function = slot / 2;
    const world::StandIn* below = world::stand_in();
    NextFunction following;
    following.next = world::find(profiling_names[function] + 1);
    following.library = world::find_function(profiling_names[function]);
    if (below && !following.library)
        return false;
    // A tool between the two goes first.
    if (below && (!(following.next = world::find_linked(profiling_names[function] + 1)) ||
                  following.next == below->entrance(profiling_names[function] + 1)))
        following.next = below->next(profiling_names[function] + 1);
    if (!following.library)
        following.library = following.next;
    if (!following.next)
        following.next = following.library;
    if (!following.next)
        missing(name_of(slot));
    const Held held(resolving, true);
    if (next_functions[function].next)
        return true;
    if (now != Mode::aside && reorders())
        order::stand_before(Function(function), following);
    next_functions[function].library = following.library;
    __atomic_store_n(&next_functions[function].next, following.next, __ATOMIC_RELEASE);
    if (now == Mode::partly || now == Mode::recording)
        let_tuner_follow(function);
    return true;
}

}  // namespace

void step_aside() noexcept {
    mode.store(Mode::aside, std::memory_order_release);
    for (uint32_t function = 0; function < function_count; ++function) {
        if (wrap::untuned[function].next)
            next_functions[function] = wrap::untuned[function];
        if (next_functions[function].next)
            store(2 * function, next_functions[function].next);
        if (next_functions[function].library)
            store(2 * function + 1, next_functions[function].library);
    }
    posix_watched = false;
    lead_posix();
}

namespace {

/// Leads functions that have been called already to their wrappers; another finds its own when it is called.
template <class Which> void lead_to_wrappers(Which&& which) noexcept {
    const Mode now = mode.load(std::memory_order_acquire);
    if (defers())
        return;  // every call asks where it leads
    for (uint32_t function = 0; now != Mode::aside && function < function_count; ++function) {
        if (!which(Function(function)) || !next_functions[function].next)
            continue;
        for (const bool profiling : {false, true})
            if (const void* wrapper = leads_to(now, function, profiling))
                store(2 * function + profiling, wrapper);
    }
}

}  // namespace

void watch_completions() noexcept {
    if (!completions_watched.exchange(true))
        lead_to_wrappers(handles_requests);
}

void watch_everything() noexcept {
    if (!everything_watched.exchange(true))
        lead_to_wrappers([](Function function) { return family_of(function) != Family::local; });
}

void lead_posix() noexcept {
    for (uint32_t at = 0; at < files::posix_count; ++at)
        store(2 * function_count + at,
              files::deferred::passes(at) ? mpiric_posix_first[at] : posix_target(at));
}

void watch_posix() noexcept {
    posix_watched = true;
    lead_posix();
}

}  // namespace mpiric::symbols

void* mpiric_resolve(uint32_t index) {
    using namespace mpiric::symbols;
    if (index >= 2 * function_count) {
        const uint32_t at = index - 2 * function_count;
        if (mpiric::files::deferred::passes(at))
            mpiric::files::deferred::before_call(at);
        else
            store(index, posix_target(at));
        return posix_target(at);
    }
    const uint32_t function = index / 2;
    const bool profiling = index % 2 != 0;
    const mpiric::world::StandIn* below = mpiric::world::stand_in();
    const Mode now = decided(mpiric::thread);
    const bool holds_back =
        now != Mode::undecided && defers() && family_of(Function(function)) != Family::local;
    if (holds_back)
        mpiric::files::deferred::before_mpi(leaves_mpi(Function(function)));
    if (!is_found(function) && !find(index, now))
        return below->entrance(name_of(index));  // says that there is nothing
    void* target = leads_to(now, function, profiling);
    if (!target)
        target = profiling ? next_functions[function].library : next_functions[function].next;
    if (mode.load(std::memory_order_acquire) != Mode::undecided && !holds_back)
        store(index, target);
    else if (holds_back)
        return through_stand_in(index, target);
    return below ? below->entrance(name_of(index)) : target;
}

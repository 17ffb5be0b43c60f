// Sets the slots that the entrances jump through (base/arch): a slot first leads to mpiric_resolve(), which
// asks the layers, and then to a wrapper, a layer's function, or straight to the library.
#include "symbols/switchboard.hpp"

#include "base/say.hpp"
#include "base/spin_lock.hpp"
#include "base/thread.hpp"
#include "profile/context.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <unistd.h>

// Two slots per function, MPI_ then PMPI_, then the slots of the POSIX names; first calls at the start.
extern "C" [[gnu::visibility("hidden")]] void* mpiric_slots[];
extern "C" [[gnu::visibility("hidden")]] void* const mpiric_posix_first[];
extern "C" [[gnu::visibility("hidden")]] void* mpiric_resolve(uint32_t index);

namespace mpiric::symbols {

constinit NextFunction next_functions[function_count];

namespace {

enum class Mode : uint8_t {
    undecided,
    inactive,  ///< no layer is enabled, the library is of another family, or the program has left MPI
    active
};

struct Switchboard {
    std::atomic<Mode> mode{Mode::undecided};
    SpinLock deciding, resolving;
    std::array<const Layer*, 16> enabled{};
    size_t enabled_count = 0;
    bool posix_watched = true;  ///< true until the program leaves MPI
};
constinit Switchboard switchboard;

/// Functions between which a process has MPI: every layer may act there.
bool bounds_mpi(Function function) noexcept {
    switch (function) {
    case Function::MPI_Init:
    case Function::MPI_Init_thread:
    case Function::MPI_Session_init:
    case Function::MPI_Finalize:
    case Function::MPI_Session_finalize:
    case Function::MPI_Abort:
        return true;
    default:
        return false;
    }
}

Interest interest_of(const Layer& layer, Function function) noexcept {
    return layer.interest ? layer.interest(function) : Interest::none;
}
Interest interest_of(const Layer& layer, Posix name) noexcept {
    return layer.posix_interest ? layer.posix_interest(name) : Interest::none;
}

/// Whether an enabled layer has such an interest in a function of MPI, or in a name of libc.
template <class Name> bool any_layer(Interest interest, Name name) noexcept {
    const auto enabled = enabled_layers();
    return std::any_of(enabled.begin(), enabled.end(),
                       [&](const Layer* layer) { return interest_of(*layer, name) == interest; });
}

/// Calls a hook of the layers that act before each call of a name; whether there are any.
template <class Name> bool call_before(Name name, void (*Layer::*hook)(Name) noexcept) noexcept {
    bool called = false;
    for (const Layer* layer : enabled_layers())
        if (interest_of(*layer, name) == Interest::before) {
            (layer->*hook)(name);
            called = true;
        }
    return called;
}

/// Whether there is something to do in this process, and the library is of our family.
Mode choose_mode() noexcept {
    runtime.options = read_options();
    size_t count = 0;
    for (const Layer* layer : layers())
        if (layer->enabled(runtime.options))
            switchboard.enabled[count++] = layer;
    if (count == 0)
        return Mode::inactive;
    if (!world::family_fits()) {
        say_once("nothing is recorded, tuned or reordered: this is the runtime for another family of MPI "
                 "libraries than",
                 world::version_text());
        return Mode::inactive;
    }
    world::bind();
    switchboard.enabled_count = count;
    call_layers(&Layer::on_library);
    return Mode::active;
}

Mode mode_of_process(Thread& self) noexcept {
    const Mode known = switchboard.mode.load(std::memory_order_acquire);
    if (known != Mode::undecided)
        return known;
    if (self.depth > 0)
        return Mode::inactive;  // the library calls itself while it is being asked who it is
    const Held held(switchboard.deciding, true);
    if (switchboard.mode.load(std::memory_order_acquire) == Mode::undecided) {
        const Inside inside(self);
        show_what_the_library_has();
        switchboard.mode.store(choose_mode(), std::memory_order_release);
    }
    return switchboard.mode.load(std::memory_order_acquire);
}

/// The wrapper that a slot leads to; null: straight on.
void* wrapper_in(Mode now, uint32_t slot) noexcept {
    const auto function = Function(slot / 2);
    if (now != Mode::active || (!bounds_mpi(function) && !any_layer(Interest::watch, function)))
        return nullptr;
    const Wrapper wrapper = wrapper_of(function);
    return slot % 2 != 0 ? wrapper.by_profiling_name : wrapper.by_name;
}

/// As the dynamic linker ends a program that calls what is not following.
[[noreturn]] void missing(const char* name) noexcept {
    say_once("symbol lookup error: undefined symbol", name);
    _exit(127);
}

const char* name_of(uint32_t slot) noexcept { return profiling_names[slot / 2] + (slot % 2 != 0 ? 0 : 1); }

/// Target of a slot. Above a stand-in it is the stand-in's entrance, which passes the program's calls on to
/// the target: calls of the library underneath come to the slot too, and must not reach a wrapper.
void* through_stand_in(uint32_t slot, const void* target) noexcept {
    const world::StandIn* below = slot < 2 * function_count ? world::stand_in() : nullptr;
    if (!below)
        return const_cast<void*>(target);
    below->lead(name_of(slot), const_cast<void*>(target));
    return below->entrance(name_of(slot));
}

void set_slot(uint32_t slot, const void* target) noexcept {
    __atomic_store_n(&mpiric_slots[slot], through_stand_in(slot, target), __ATOMIC_RELEASE);
}

void* posix_target(uint32_t at) noexcept {
    const bool watched = switchboard.posix_watched && any_layer(Interest::watch, Posix(at));
    void* wrapper = watched ? posix_wrapper_of(at) : nullptr;
    return wrapper ? wrapper : next_posix(at);
}

void set_posix_slots() noexcept {
    for (uint32_t at = 0; at < posix_count; ++at)
        set_slot(2 * function_count + at,
                 any_layer(Interest::before, Posix(at)) ? mpiric_posix_first[at] : posix_target(at));
}

/// Finds the next definition of a function, with the functions that layers insert before it. False where a
/// stand-in does not have it.
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
    const Held held(switchboard.resolving, true);
    if (next_functions[function].next)
        return true;
    if (now == Mode::active)
        for (const Layer* layer : enabled_layers())
            if (interest_of(*layer, Function(function)) == Interest::replace)
                layer->replace(Function(function), following);
    next_functions[function].library = following.library;
    __atomic_store_n(&next_functions[function].next, following.next, __ATOMIC_RELEASE);
    return true;
}

/// Where a name of libc leads, asked by a slot that does not lead there yet.
void* resolve_posix(uint32_t at) noexcept {
    if (!call_before(Posix(at), &Layer::before_posix))
        set_slot(2 * function_count + at, posix_target(at));
    return posix_target(at);
}

}  // namespace

std::span<const Layer* const> enabled_layers() noexcept {
    return {switchboard.enabled.data(), switchboard.enabled_count};
}

void interest_changed() noexcept {
    const Mode now = switchboard.mode.load(std::memory_order_acquire);
    set_posix_slots();
    // Functions that have not been called yet ask when they are, and those with an interest before do always.
    for (uint32_t slot = 0; now == Mode::active && slot < 2 * function_count; ++slot)
        if (next_functions[slot / 2].next && !any_layer(Interest::before, Function(slot / 2)))
            if (const void* wrapper = wrapper_in(now, slot))
                set_slot(slot, wrapper);
}

void deactivate() noexcept {
    switchboard.mode.store(Mode::inactive, std::memory_order_release);
    for (uint32_t function = 0; function < function_count; ++function) {
        if (next_functions[function].next)
            set_slot(2 * function, next_functions[function].next);
        if (next_functions[function].library)
            set_slot(2 * function + 1, next_functions[function].library);
    }
    switchboard.posix_watched = false;
    set_posix_slots();
}

}  // namespace mpiric::symbols

void* mpiric_resolve(uint32_t index) {
    using namespace mpiric::symbols;
    if (index >= 2 * function_count)
        return resolve_posix(index - 2 * function_count);
    const uint32_t function = index / 2;
    const mpiric::world::StandIn* below = mpiric::world::stand_in();
    const Mode now = mode_of_process(mpiric::thread);
    const bool asks_always = now == Mode::active && call_before(Function(function), &mpiric::Layer::before);
    if (!__atomic_load_n(&next_functions[function].next, __ATOMIC_ACQUIRE) && !find(index, now))
        return below->entrance(name_of(index));  // says that there is nothing
    void* target = wrapper_in(now, index);
    if (!target)
        target = next_functions[function].of(index % 2 != 0);
    if (asks_always)
        return through_stand_in(index, target);
    if (switchboard.mode.load(std::memory_order_acquire) != Mode::undecided)
        set_slot(index, target);
    return below ? below->entrance(name_of(index)) : target;
}

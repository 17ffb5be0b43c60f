// The beginning and the end of MPI, at which the hooks of the layers are called, and MPI_Pcontrol.
#include "symbols/modules.hpp"
#include "symbols/switchboard.hpp"
#include "wrap/intercept.hpp"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <utility>

namespace mpiric::wrap {
namespace {

struct State {
    ProgramWorld world;  ///< world that the layers have begun with
    std::atomic<int> sessions{0};
};
constinit State state;

/// The next definition of a function, by the name that the program has called.
template <Function function, class Pointer>
[[gnu::always_inline]] inline Pointer take_next(Thread& self) noexcept {
    return reinterpret_cast<Pointer>(
        next_functions[static_cast<uint32_t>(function)].of(std::exchange(self.by_profiling_name, false)));
}

/// Calls the next function and, when it has succeeded, has the layers begin.
template <Function function, class Pointer, class Do, class Begin>
[[gnu::always_inline]] inline int beginning(Do&& call_next, Begin&& begin) {
    Thread& self = thread;
    auto* next = take_next<function, Pointer>(self);
    if (nested(self))
        return call_next(next);
    const Inside inside(self);
    symbols::call_layers(&Layer::before_init);
    const uint64_t start = ticks();
    const int result = call_next(next);
    const uint64_t stop = ticks();
    if (result != MPI_SUCCESS)
        return result;
    begin();
    symbols::call_layers(&Layer::after_init, InitCall{function, stop - start, stop});
    return result;
}

void begin_with_world() noexcept {
    ProgramWorld world;
    MPI_Comm parent{};
    world.spawned =
        world::library.Comm_get_parent(&parent) == MPI_SUCCESS && parent != world::handles.comm_null;
    world::library.Query_thread(&world.thread_level);
    world.has_group = world::library.Comm_group(world::handles.comm_world, &world.group) == MPI_SUCCESS;
    symbols::call_layers(&Layer::on_init, world);
    state.world = world;
}

/// Has the layers end and lets the call through; afterwards no name leads here any more.
template <Function function, class Pointer, class Do>
[[gnu::always_inline]] inline int ending(Do&& call_next) {
    Thread& self = thread;
    auto* next = take_next<function, Pointer>(self);
    const bool outermost = !nested(self);
    const Inside inside(self);
    if (outermost) {
        symbols::call_layers_in_reverse(&Layer::on_finalize, state.world);
        symbols::deactivate();
        if (state.world.has_group)
            world::library.Group_free(&state.world.group);
    }
    return call_next(next);
}

void bound_region(int level, const char* name) noexcept {
    char text[40];
    if (runtime.options.regions == Regions::names) {
        if ((level != 1 && level != -1) || !symbols::read_text(name, text, sizeof text))
            return;
    } else {
        if (level < 3 && level > -3)
            return;
        std::snprintf(text, sizeof text, "level %d", level < 0 ? -level : level);
    }
    if (level > 0)
        runtime.recorder.enter_region(text);
    else
        runtime.recorder.leave_region();
}

}  // namespace

extern "C" int w_MPI_Init(int* argc, char*** argv) {
    return beginning<Function::MPI_Init, decltype(&w_MPI_Init)>([&](auto* next) { return next(argc, argv); },
                                                                begin_with_world);
}

extern "C" int w_MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    return beginning<Function::MPI_Init_thread, decltype(&w_MPI_Init_thread)>(
        [&](auto* next) { return next(argc, argv, required, provided); }, begin_with_world);
}

extern "C" int w_MPI_Finalize() {
    return ending<Function::MPI_Finalize, decltype(&w_MPI_Finalize)>([](auto* next) { return next(); });
}

extern "C" int w_MPI_Abort(MPI_Comm comm, int errorcode) {
    Thread& self = thread;
    auto* next = take_next<Function::MPI_Abort, decltype(&w_MPI_Abort)>(self);
    if (!nested(self))
        symbols::call_layers(&Layer::on_abort);
    return next(comm, errorcode);
}

extern "C" int w_MPI_Pcontrol(const int level, ...) {
    va_list arguments;
    va_start(arguments, level);
    // Whether there is a second argument cannot be known. Reading its place is harmless; following it is not.
    auto* pointer = va_arg(arguments, const char*);
    va_end(arguments);
    Thread& self = thread;
    auto* next = take_next<Function::MPI_Pcontrol, decltype(&w_MPI_Pcontrol)>(self);
    if (!nested(self) && runtime.recorder.is_open()) {
        if (level == 0 || level == 1)
            runtime.recording = level == 1;
        bound_region(level, pointer);
    }
    return next(level, pointer);
}

#if MPIRIC_HAS_MPI_Session_init
extern "C" int w_MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
    return beginning<Function::MPI_Session_init, decltype(&w_MPI_Session_init)>(
        [&](auto* next) { return next(info, errhandler, session); },
        [&] {
            ++state.sessions;
            if (state.world.has_group)
                return;
            // The threads of a session are its own affair: count as if there were many.
            ProgramWorld world{.of_sessions = true, .thread_level = MPI_THREAD_MULTIPLE};
            world.has_group =
                world::library.Group_from_session_pset(*session, "mpi://WORLD", &world.group) == MPI_SUCCESS;
            symbols::call_layers(&Layer::on_init, world);
            state.world = world;
        });
}

extern "C" int w_MPI_Session_finalize(MPI_Session* session) {
    if (state.world.of_sessions && !nested(thread) && --state.sessions == 0)
        return ending<Function::MPI_Session_finalize, decltype(&w_MPI_Session_finalize)>(
            [&](auto* next) { return next(session); });
    return intercept<Function::MPI_Session_finalize, Timing::always, decltype(&w_MPI_Session_finalize)>(
        [&](auto* next) { return next(session); }, [](auto&) {});
}
#endif

}  // namespace mpiric::wrap

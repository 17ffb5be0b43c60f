// Where MPI begins and ends for the program, and what it says in between about what to record.
#include "files/deferred/deferred.hpp"
#include "files/elsewhere/elsewhere.hpp"
#include "files/inputs/inputs.hpp"
#include "order/reordered_world.hpp"
#include "select/tuner.hpp"
#include "symbols/interception.hpp"
#include "symbols/readable.hpp"
#include "system/process.hpp"
#include "wrap/armed.hpp"
#include "wrap/intercept.hpp"

#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace mpiric::wrap {
namespace {

constinit std::atomic<int> sessions{0};
constinit bool is_first_of_sessions = false;  // of `mpi://WORLD`

/// Calls the next function and, when it has succeeded, begins to record; the call itself is then the first
/// one in the record.
template <Function function, class Pointer, class Do, class Begin>
[[gnu::always_inline]] inline int beginning(Do&& call_next, Begin&& begin_to_record) {
    Thread& self = thread;
    const NextFunction& following = next_functions[static_cast<uint32_t>(function)];
    auto* next = reinterpret_cast<Pointer>(self.by_profiling_name ? following.library : following.next);
    self.by_profiling_name = false;
    if (nested(self))
        return call_next(next);
    const Inside inside(self);
    before_init();
    system::take_usage_before_mpi();
    const uint64_t start = ticks();
    const int result = call_next(next);
    const uint64_t stop = ticks();
    if (result != MPI_SUCCESS)
        return result;
    begin_to_record();
    if (runtime.recording)
        Call(static_cast<uint32_t>(function), {stop - start, stop, 1}, 0, nullptr).note();
    after_init();
    return result;
}

/// Broadcasts inputs, where that was asked for: all ranks of the world do.
void broadcast_inputs() noexcept {
    if (!was_spawned())
        files::inputs::begin(runtime.options);
}

/// Makes files elsewhere and holds output back from here on, where that was asked for.
void begin_acting_on_files() noexcept {
    files::elsewhere::begin(runtime.options);
    files::deferred::begin(runtime.options);
    symbols::lead_posix();
}

void begin_with_world() noexcept {
    order::reorder_world();
    MPI_Group group{};
    int level = MPI_THREAD_SINGLE;
    world::library.Query_thread(&level);
    const bool has_group = world::library.Comm_group(world::handles.comm_world, &group) == MPI_SUCCESS;
    if (has_group)
        begin(group, level, false);
    select::begin_tuning(runtime.options, level, was_spawned(), symbols::watch_completions);
    if (has_group)
        arm(group, level, false);
    broadcast_inputs();
    begin_acting_on_files();
}

/// Closes the record and lets the call through; afterwards no name leads here any more.
template <Function function, class Pointer, class Do>
[[gnu::always_inline]] inline int ending(Do&& call_next) {
    Thread& self = thread;
    const NextFunction& following = next_functions[static_cast<uint32_t>(function)];
    auto* next = reinterpret_cast<Pointer>(self.by_profiling_name ? following.library : following.next);
    self.by_profiling_name = false;
    const bool outermost = !nested(self);
    const Inside inside(self);
    if (outermost) {
        finish_marks();
        select::end_tuning();
        end();
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
extern "C" int p_MPI_Init(int* argc, char*** argv) {
    return by_profiling_name<Function::MPI_Init>(&w_MPI_Init, argc, argv);
}

extern "C" int w_MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    return beginning<Function::MPI_Init_thread, decltype(&w_MPI_Init_thread)>(
        [&](auto* next) { return next(argc, argv, required, provided); }, begin_with_world);
}
extern "C" int p_MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    return by_profiling_name<Function::MPI_Init_thread>(&w_MPI_Init_thread, argc, argv, required, provided);
}

extern "C" int w_MPI_Finalize() {
    return ending<Function::MPI_Finalize, decltype(&w_MPI_Finalize)>([](auto* next) { return next(); });
}
extern "C" int p_MPI_Finalize() { return by_profiling_name<Function::MPI_Finalize>(&w_MPI_Finalize); }

extern "C" int w_MPI_Abort(MPI_Comm comm, int errorcode) {
    Thread& self = thread;
    const NextFunction& following = next_functions[static_cast<uint32_t>(Function::MPI_Abort)];
    auto* next =
        reinterpret_cast<decltype(&w_MPI_Abort)>(self.by_profiling_name ? following.library : following.next);
    self.by_profiling_name = false;
    if (!nested(self)) {
        abort_marks();
        if (runtime.recorder.is_open())
            runtime.recorder.finish(profile::State::aborted);
    }
    return next(comm, errorcode);
}
extern "C" int p_MPI_Abort(MPI_Comm comm, int errorcode) {
    return by_profiling_name<Function::MPI_Abort>(&w_MPI_Abort, comm, errorcode);
}

extern "C" int w_MPI_Pcontrol(const int level, ...) {
    va_list arguments;
    va_start(arguments, level);
    // Whether there is a second argument cannot be known. Reading the place where a pointer would be is
    // harmless; following it is not.
    auto* pointer = va_arg(arguments, const char*);
    va_end(arguments);
    Thread& self = thread;
    const NextFunction& following = next_functions[static_cast<uint32_t>(Function::MPI_Pcontrol)];
    auto* next = reinterpret_cast<decltype(&w_MPI_Pcontrol)>(self.by_profiling_name ? following.library
                                                                                    : following.next);
    self.by_profiling_name = false;
    if (!nested(self) && runtime.recorder.is_open()) {
        if (level == 0 || level == 1)
            runtime.recording = level == 1;
        bound_region(level, pointer);
    }
    return next(level, pointer);
}
extern "C" int p_MPI_Pcontrol(const int level, ...) {
    va_list arguments;
    va_start(arguments, level);
    auto* pointer = va_arg(arguments, const char*);
    va_end(arguments);
    thread.by_profiling_name = true;
    return w_MPI_Pcontrol(level, pointer);
}

#if MPIRIC_HAS_MPI_Session_init
extern "C" int w_MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
    return beginning<Function::MPI_Session_init, decltype(&w_MPI_Session_init)>(
        [&](auto* next) { return next(info, errhandler, session); },
        [&] {
            ++sessions;
            begin_acting_on_files();
            // The threads of a session are its own affair: count as if there were many.
            MPI_Group group{};
            if (runtime.begun || armed.marks.is_open() ||
                world::library.Group_from_session_pset(*session, "mpi://WORLD", &group) != MPI_SUCCESS)
                return;
            int rank = -1;
            world::library.Group_rank(group, &rank);
            is_first_of_sessions = rank == 0;
            begin(group, MPI_THREAD_MULTIPLE, true);
            arm(group, MPI_THREAD_MULTIPLE, true);
        });
}
extern "C" int p_MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
    return by_profiling_name<Function::MPI_Session_init>(&w_MPI_Session_init, info, errhandler, session);
}

extern "C" int w_MPI_Session_finalize(MPI_Session* session) {
    if (runtime.of_sessions && !nested(thread) && --sessions == 0) {
        if (is_first_of_sessions)
            files::inputs::say_why_not_begun(runtime.options);
        return ending<Function::MPI_Session_finalize, decltype(&w_MPI_Session_finalize)>(
            [&](auto* next) { return next(session); });
    }
    return intercept<Function::MPI_Session_finalize, Policy::always, decltype(&w_MPI_Session_finalize)>(
        [&](auto* next) { return next(session); }, [](auto&) {});
}
extern "C" int p_MPI_Session_finalize(MPI_Session* session) {
    return by_profiling_name<Function::MPI_Session_finalize>(&w_MPI_Session_finalize, session);
}
#endif

}  // namespace mpiric::wrap

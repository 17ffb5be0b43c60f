// The layer that measures a run between two calls: arms the marks in MPI_Init, and takes times.
#include "steps/armed.hpp"

#include "base/say.hpp"
#include "profile/context.hpp"
#include "profile/lost_pages.hpp"
#include "symbols/modules.hpp"
#include "symbols/switchboard.hpp"
#include "system/process.hpp"

#include <algorithm>
#include <cstring>
#include <pthread.h>
#include <string_view>

namespace mpiric::steps {
namespace {

using marks::Flag;
using marks::Marks;

/// File name without its directory, and offset, as the record's facts and the reader make them of it.
void locate(uint64_t address, marks::Location& location) noexcept {
    symbols::CodeModule module;
    location.offset = address;
    if (!symbols::find_module(reinterpret_cast<const void*>(address), module))
        return;
    const char* slash = std::strrchr(module.path, '/');
    const char* name = slash ? slash + 1 : module.path;
    std::memcpy(location.module, name, std::min(std::strlen(name), sizeof location.module - 1));
    location.offset = address - reinterpret_cast<uint64_t>(module.start);
}

uint32_t add_to_marks(const world::Description& info) noexcept {
    return info.is_window || info.is_inter ? Marks::no_communicator
                                           : armed.marks.add_communicator(uint32_t(info.size));
}

/// The number of a function that may be a mark; `count` when there is none of that name.
symbols::Function function_of(std::string_view name) noexcept {
    for (uint32_t at = 0; at < symbols::function_count; ++at)
        if (const symbols::Function function{uint16_t(at)};
            name_of(function) == name && counts_steps(function))
            return function;
    return symbols::Function::count;
}

bool open_marks(MPI_Group world, int thread_level, bool many_threads, const marks::Mark* mark) noexcept {
    marks::Arming arming = {.directory = runtime.options.mark_out,
                            .text = armed.mark_text,
                            .mark = mark,
                            .world_rank = 0,
                            .world_size = 0,
                            .thread_level = thread_level,
                            .many_threads = many_threads,
                            .job = system::job(),
                            .begin_unix_ns = armed.begin_unix_ns,
                            .init_entered_ns = armed.init_entered_ns,
                            .locate = locate};
    world::library.Group_rank(world, &arming.world_rank);
    world::library.Group_size(world, &arming.world_size);
    const char* reason = nullptr;
    if (armed.marks.open(arming, reason))
        return true;
    say_once("this rank leaves no marks", reason);
    return false;
}

/// Lets the wrappers count.
void count_calls(MPI_Group world, symbols::Function function, bool counts) noexcept {
    // One range a process: while nothing is recorded it is ours.
    profile::guard_pages(&armed.marks.head(), armed.marks.head().bytes, []() noexcept {
        armed.stage = Stage::off;
        say_once("this rank's file was cut short or deleted: it leaves no marks");
    });
    pthread_atfork(nullptr, nullptr, [] {
        armed.stage = Stage::off;
        symbols::deactivate();
    });
    world::begin_comm_info(world, add_to_marks);
    world::comm_info(world::handles.comm_world);
    armed.function = uint16_t(function);
    armed.stage = !counts                      ? Stage::following
                  : armed.marks.many_threads() ? Stage::counting_carefully
                                               : Stage::counting;
    // A rank that follows may make no call that counts: it asks in whatever it calls.
    if (!counts && runtime.options.mark_end)
        watch_everything();
}

void take_time() noexcept {
    if (armed.init_entered_ns)
        return;
    armed.begin_unix_ns = now_ns(CLOCK_REALTIME);
    armed.init_entered_ns = now_ns();
}

/// Arms the mark that was asked for, or takes times alone.
void arm(ProgramWorld& program) noexcept {
    if (!program.has_group || armed.marks.is_open() || armed.finalising)
        return;
    const MPI_Group world = program.group;
    char (&mark_text)[sizeof armed.mark_text] = armed.mark_text;
    std::memcpy(mark_text, runtime.options.mark,
                std::min(std::strlen(runtime.options.mark), sizeof mark_text - 1));
    marks::Mark mark;
    const bool wanted = marks::only_times != mark_text;
    const bool read = wanted && marks::read_mark(mark_text, mark);
    const symbols::Function function = read ? function_of(mark.function) : symbols::Function::count;
    // Why calls are not counted although a mark was asked for; 0 when they are.
    const uint32_t hindered =
        (program.of_sessions ? uint32_t(Flag::sessions) : 0) |
        (program.spawned ? uint32_t(Flag::spawned) : 0) | (runtime.recording ? uint32_t(Flag::recorded) : 0) |
        (wanted && function == symbols::Function::count ? uint32_t(Flag::not_understood) : 0);
    const bool armed_fully = wanted && !hindered;
    int rank = 0;
    world::library.Group_rank(world, &rank);
    const bool counts = rank == 0 || runtime.options.mark_ranks == MarkRanks::all;
    const bool ends = armed_fully && runtime.options.mark_end;
    // Whatever becomes of this rank's file: the others need it for the barrier.
    const bool can_end = ends && runtime.options.all_come_to_finalize && prepare_ending(counts);
    if (!open_marks(world, program.thread_level, program.thread_level == MPI_THREAD_MULTIPLE,
                    armed_fully ? &mark : nullptr))
        return;
    armed.marks.head().flags |= hindered;
    if (ends && !can_end)
        armed.marks.set(Flag::not_ended);
    if (armed_fully)
        count_calls(world, function, counts);
}

void note_init_left(const InitCall&) noexcept {
    if (armed.marks.is_open() && !armed.marks.head().init_left_ns)
        armed.marks.head().init_left_ns = now_ns();
}

void finish(const ProgramWorld&) noexcept {
    armed.finalising = true;
    if (armed.marks.is_open()) {
        armed.marks.head().finalize_entered_ns = now_ns();
        armed.marks.head().state = uint32_t(marks::State::finalized);
    }
    armed.stage = Stage::off;
    finish_ending();
}

void abort() noexcept {
    armed.stage = Stage::off;
    if (armed.marks.is_open())
        armed.marks.head().state = uint32_t(marks::State::aborted);
}

/// Unless only times are asked for: functions that may count steps, make or free handles, and their callers.
Interest interest(symbols::Function function) noexcept {
    const bool counts =
        marks::only_times != runtime.options.mark &&
        (function == symbols::Function::MPI_Type_free || function == symbols::Function::MPI_Request_free ||
         symbols::watched_by_marks(function));
    const bool asks = armed.watches_everything && symbols::family_of(function) != symbols::Family::local;
    return counts || asks ? Interest::watch : Interest::none;
}

}  // namespace

void watch_everything() noexcept {
    if (armed.watches_everything)
        return;
    armed.watches_everything = true;
    symbols::interest_changed();
}

extern constinit const Layer layer_step_markers;
constinit const Layer layer_step_markers{
    .name = "step markers",
    .enabled = [](const Options& options) noexcept { return *options.mark_out != '\0'; },
    .interest = interest,
    .before_init = take_time,
    .on_init = arm,
    .after_init = note_init_left,
    .on_finalize = finish,
    .on_abort = abort,
};

}  // namespace mpiric::steps

#include "wrap/runtime.hpp"

#include "base/say.hpp"
#include "files/layouts.hpp"
#include "profile/lost_pages.hpp"
#include "select/tuner.hpp"
#include "symbols/interception.hpp"
#include "symbols/next.hpp"
#include "system/flush.hpp"
#include "system/job.hpp"
#include "system/process.hpp"
#include "world/communicators.hpp"
#include "world/merge.hpp"

#include <cstring>
#include <pthread.h>

namespace mpiric::wrap {

namespace {

constinit MPI_Group world_group{};
constinit int world_rank = 0;
constinit int world_size = 0;
constinit bool spawned = false;
constinit MPI_Comm merge_comm{};

bool merges() noexcept { return runtime.options.merge == Merge::tree && !runtime.of_sessions; }

uint32_t add_to_record(const world::Description& info) noexcept {
    profile::Communicator row{};
    row.members = info.members;
    row.size = info.size;
    row.rank = info.rank;
    row.remote_size = info.remote_size;
    row.flags = uint32_t(info.is_window) | uint32_t(info.is_inter) << 1 | uint32_t(info.whole_world) << 2;
    std::strncpy(row.name, info.name, sizeof row.name - 1);
    return runtime.recorder.add_communicator(row);
}

void add_fact(const char* key, const char* value) noexcept { runtime.recorder.fact(key, value); }

/// The file under the tables has been taken away; called by a signal handler.
void lose_record() noexcept {
    runtime.recording = false;
    runtime.recorder.lose();
    say_once("this rank's file was cut short or deleted: it records nothing any more");
}

/// Whether this rank has tables to record in; says why not.
bool open_record(int thread_level) noexcept {
    const profile::Beginning beginning = {
        .directory = runtime.options.record_dir,
        .world_rank = world_rank,
        .world_size = world_size,
        .thread_level = thread_level,
        .many_threads = thread_level == MPI_THREAD_MULTIPLE,
        .with_call_sites = runtime.options.call_sites,
        .job = system::job(),
        .names = symbols::function_names,
        .or_in_memory = merges(),
    };
    const char* reason = nullptr;
    if (!runtime.recorder.open(beginning, reason)) {
        say_once("this rank records nothing", reason);
        return false;
    }
    if (runtime.recorder.is_in_file())
        profile::guard_pages(&runtime.recorder.image(), runtime.recorder.image().bytes, lose_record);
    else
        add_fact("record.in_memory", reason);
    return true;
}

}  // namespace

bool was_spawned() noexcept {
    MPI_Comm parent{};
    return !runtime.of_sessions && world::library.Comm_get_parent(&parent) == MPI_SUCCESS &&
           parent != world::handles.comm_null;
}

void begin(MPI_Group world, int thread_level, bool of_sessions) noexcept {
    if (runtime.begun)
        return;
    runtime.of_sessions = of_sessions;
    files::lays_out = *runtime.options.file_layouts;
    if (files::lays_out)
        symbols::watch_posix();
    if (!*runtime.options.record_dir)
        return;
    runtime.begun = true;
    world_group = world;
    world::library.Group_rank(world, &world_rank);
    world::library.Group_size(world, &world_size);
    spawned = was_spawned();
    if (merges() && !spawned)
        merge_comm = world::make_merge_comm(world::Made::at_beginning);
    if (!open_record(thread_level))
        return;
    pthread_atfork(nullptr, nullptr, [] { stop(); });
    world::begin_comm_info(world, add_to_record);
    if (!of_sessions)
        world::comm_info(world::handles.comm_world);
    add_fact("mpi.family", MPIRIC_FAMILY);
    add_fact("mpi.version", world::version_text());
    if (spawned)
        add_fact("spawned", "1");
    system::add_start_facts(add_fact, runtime.options.counters);
    if (runtime.options.posix_io)
        symbols::watch_posix();
    if (runtime.options.flush_at_unix_s > 0)
        system::flush_output_at(runtime.options.flush_at_unix_s);
    runtime.recording = true;
}

void end() noexcept {
    if (!runtime.begun) {
        symbols::step_aside();
        return;
    }
    runtime.recording = false;
    if (runtime.recorder.is_open()) {
        runtime.recorder.finish(profile::State::finalized);
        system::add_end_facts(add_fact);
        if (world_rank == 0 && !runtime.of_sessions)
            select::report_library_choice(add_fact);
    }
    symbols::step_aside();
    if (merges()) {
        if (spawned)
            merge_comm = world::make_merge_comm(world::Made::at_end);
        const bool recorded = runtime.recorder.is_open();
        world::Merging merging = {.comm = merge_comm,
                                  .directory = runtime.options.record_dir,
                                  .recorder = recorded ? &runtime.recorder : nullptr,
                                  .world_rank = world_rank,
                                  .world_size = world_size,
                                  .names = symbols::function_names,
                                  .first_number = spawned ? 2 : 1};
        if (world::merge(merging) && recorded)
            runtime.recorder.remove_file();
    }
    world::library.Group_free(&world_group);
}

void stop() noexcept {
    runtime.recording = false;
    symbols::step_aside();
}

}  // namespace mpiric::wrap

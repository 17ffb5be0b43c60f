// The layer that records a run.
#include "base/say.hpp"
#include "profile/context.hpp"
#include "profile/lost_pages.hpp"
#include "record/call.hpp"
#include "symbols/switchboard.hpp"
#include "system/process.hpp"
#include "system/reference_work.hpp"
#include "tune/candidate.hpp"
#include "world/communicators.hpp"
#include "world/control.hpp"
#include "world/merge.hpp"

#include <algorithm>
#include <cstring>
#include <pthread.h>
#include <set>
#include <string>
#include <string_view>

namespace mpiric::record {
namespace {

struct State {
    MPI_Comm merge_comm{};
    int rank = 0, size = 0;
    bool of_sessions = false;
    bool watches_posix = false;
};
constinit State state;

bool merges() noexcept { return runtime.options.merge == Merge::tree && !state.of_sessions; }

uint32_t add_to_record(const world::Description& info) noexcept {
    profile::Communicator row{};
    row.members = info.members;
    row.size = info.size;
    row.rank = info.rank;
    row.remote_size = info.remote_size;
    row.flags = uint32_t(info.is_window) | uint32_t(info.is_inter) << 1 | uint32_t(info.whole_world) << 2;
    std::strncpy(row.name, info.name, sizeof row.name - 1);
    return runtime.recorder.add_communicator(row, info.handle);
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
        .world_rank = state.rank,
        .world_size = state.size,
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

void begin(ProgramWorld& world) noexcept {
    if (runtime.begun || !world.has_group)
        return;
    runtime.begun = true;
    state.of_sessions = world.of_sessions;
    world::library.Group_rank(world.group, &state.rank);
    world::library.Group_size(world.group, &state.size);
    if (merges() && !world.spawned)
        state.merge_comm = world::make_merge_comm(world::Made::at_beginning);
    const uint64_t reference_ns = system::reference_work_ns();  // before the record's clock starts
    if (!open_record(world.thread_level))
        return;
    system::add_number(add_fact, "reference.begin_ns", reference_ns);
    pthread_atfork(nullptr, nullptr, [] {
        runtime.recording = false;
        symbols::deactivate();
    });
    world::begin_comm_info(world.group, add_to_record);
    if (!world.of_sessions)
        world::comm_info(world::handles.comm_world);
    for (const MPI_Datatype type : world::types_of_c())
        if (world::number(type) != 0)
            world::size_of(type);
    add_fact("mpi.family", MPIRIC_FAMILY);
    add_fact("mpi.version", world::version_text());
    if (world.spawned)
        add_fact("spawned", "1");
    system::add_start_facts(add_fact, runtime.options.counters);
    if (runtime.options.posix_io) {
        state.watches_posix = true;
        symbols::interest_changed();
    }
    if (runtime.options.flush_at > 0)
        system::flush_output_at(runtime.options.flush_at);
    runtime.recording = true;
}

/// The call that has initialised MPI is the first one in the record.
void note_init(const InitCall& call) noexcept {
    if (runtime.recording)
        RecordedCall(uint32_t(call.function), {call.ticks, call.end, 1}, 0, nullptr).note();
}

/// Before this version MPI_T_init_thread of Open MPI opens every component there is, in 0.2 s.
constexpr uint32_t first_cheap_openmpi = 5;

/// Names the open components of a framework. Open MPI closes components that it does not choose, and their
/// variables disappear with them: only components in use still have a version variable.
std::string components(std::string_view framework) {
    constexpr std::string_view mark = "_release_version";
    std::set<std::string> open;
    for (const auto& [name, index] : world::variables()) {
        const std::string_view whole = name;
        if (whole.starts_with(framework) && whole.ends_with(mark))
            open.emplace(whole.substr(framework.size(), whole.size() - framework.size() - mark.size()));
    }
    if (open.contains("sm"))
        open.erase("vader");  // the old name of sm
    std::string names;
    for (const std::string& name : open)
        names += (names.empty() ? "" : " ") + name;
    return names;
}

/// The transport of messages; empty where the library does not report it.
std::string transport() {
    const std::string layer = components("pml_");
    const std::string below = layer == "ob1"  ? components("btl_")
                              : layer == "cm" ? components("mtl_")
                                              : std::string();
    return below.empty() ? layer : layer + " over " + below;
}

/// Whether the variables of an algorithm have the values it needs, but for the order of components.
bool is_selected(const tune::Candidate& candidate) {
    return std::all_of(candidate.writes.begin(), candidate.writes.end(), [](const tune::Write& write) {
        return write.orders_components() || world::Setting().is_in_force(write.variable, write.value);
    });
}

/// Records the facts `library.transport` and `library.<collective>`. A library does not report what it
/// decides call by call: only algorithms that settings name are seen. MPICH does not report its network
/// modules, and Intel MPI reports nothing at all.
void report_library_choice() noexcept try {
    const tune::Library identity = tune::library_of(world::version_text());
    if (identity.implementation == "openmpi" && identity.major() < first_cheap_openmpi)
        return;
    if (const std::string text = transport(); !text.empty())
        add_fact("library.transport", text.c_str());
    const tune::Catalogue catalogue(identity);
    constexpr std::string_view prefix = "library:";
    for (uint32_t at = 0; at < catalogue.size(); ++at) {
        const tune::Candidate& candidate = catalogue[at];
        // Persistent forms obey the variables of the nonblocking ones.
        if (candidate.kind == tune::Kind::switched && candidate.parent < 0 &&
            form_of(candidate.collective) != Form::persistent && is_selected(candidate))
            add_fact(("library." + std::string(name_of(candidate.collective))).c_str(),
                     candidate.name.c_str() + prefix.size());
    }
} catch (...) {
    say_once("the transport and algorithms of the library are not recorded", "memory is short");
}

void end(const ProgramWorld& world) noexcept {
    if (!runtime.begun)
        return;
    runtime.recording = false;
    const bool recorded = runtime.recorder.is_open();
    if (recorded) {
        runtime.recorder.finish(profile::State::finalized);
        system::add_number(add_fact, "reference.end_ns", system::reference_work_ns());
        system::add_end_facts(add_fact);
        if (state.rank == 0 && !state.of_sessions)
            report_library_choice();
    }
    if (!merges())
        return;
    if (world.spawned)
        state.merge_comm = world::make_merge_comm(world::Made::at_end);
    world::Merging merging = {.comm = state.merge_comm,
                              .directory = runtime.options.record_dir,
                              .recorder = recorded ? &runtime.recorder : nullptr,
                              .world_rank = state.rank,
                              .world_size = state.size,
                              .names = symbols::function_names,
                              .first_number = world.spawned ? 2 : 1};
    if (world::merge(merging) && recorded)
        runtime.recorder.remove_file();
}

}  // namespace

extern constinit const Layer layer_record;
constinit const Layer layer_record{
    .name = "record",
    .enabled = [](const Options& options) noexcept { return *options.record_dir != '\0'; },
    .interest = [](symbols::Function) noexcept { return Interest::watch; },
    .posix_interest = [](Posix) noexcept { return state.watches_posix ? Interest::watch : Interest::none; },
    .before_init = system::take_usage_before_mpi,
    .on_init = begin,
    .after_init = note_init,
    .on_finalize = end,
    .on_abort =
        []() noexcept {
            if (runtime.recorder.is_open())
                runtime.recorder.finish(profile::State::aborted);
        },
};

}  // namespace mpiric::record

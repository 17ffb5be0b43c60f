#include "select/tuner.hpp"

#include "base/say.hpp"
#include "coll/team.hpp"
#include "select/tuning.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <new>
#include <numeric>
#include <sstream>
#include <sys/stat.h>
#include <utility>

namespace mpiric::select {

thread_local constinit RememberedSpace remembered_spaces[remembered_spaces_count]{};

Tuning& tuning() noexcept {
    alignas(Tuning) static std::byte place[sizeof(Tuning)];
    static auto& one = *new (place) Tuning;
    return one;
}

namespace {

using world::handles;
using world::library;

constexpr uint64_t most_policy_bytes = uint64_t(64) << 20;
constexpr uint32_t most_staying = 8;
constexpr size_t most_left_over = 1024;  // knowledge of communicators that no other can have again

/// A bit for each collective that is named; all where nothing is.
uint64_t bits_of(std::string_view names) {
    if (names.empty())
        return UINT64_MAX;
    uint64_t bits = 0;
    while (!names.empty()) {
        const size_t end = std::min(names.find_first_of(", "), names.size());
        const std::string_view name = names.substr(0, end);
        if (const auto one = collective_of(name); one != Collective::count)
            bits |= uint64_t(1) << uint32_t(one);
        else if (!name.empty())
            say_once("MPIRIC_LEARN_ONLY names no collective", std::string(name).c_str());
        names.remove_prefix(std::min(end + 1, names.size()));
    }
    return bits;
}

/// Nothing but a file is read: a pipe or a device could go on for ever.
std::string read_file(const char* path) {
    struct stat about{};
    const bool fits = stat(path, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0 &&
                      uint64_t(about.st_size) <= most_policy_bytes;
    std::ifstream file;
    std::ostringstream text;
    if (fits)
        file.open(path, std::ios::binary);
    if (!file.is_open() || !(text << file.rdbuf())) {
        say_once("the policy cannot be read", path);
        return {};
    }
    return std::move(text).str();
}

/// Rank 0's rules and policy on every rank.
bool share_rules(const Options& options, Tuning& all, std::string& policy) {
    if (all.world.rank == 0) {
        all.rules = {options.collectives,
                     options.learn_at_most,
                     options.reprove,
                     options.reproducible,
                     *all.policy_out && options.all_come_to_finalize,
                     options.learn_ranks,
                     bits_of(options.learn_only),
                     uint64_t(options.scratch_mib) << 20};
        if (*options.policy)
            policy = read_file(options.policy);
        all.rules.policy_bytes = policy.size();
    }
    if (!world::broadcast(all.world, &all.rules, sizeof all.rules))
        return false;
    policy.resize(all.rules.policy_bytes);
    return world::broadcast(all.world, policy.data(), policy.size());
}

void take_policy(Tuning& all, const std::string& text) {
    if (text.empty())
        return;
    uint32_t line = 0;
    all.policy = tune::read_policy(text, line);
    char where[64];
    std::snprintf(where, sizeof where, "line %u", line);
    if (!all.policy) {
        if (all.world.rank == 0)
            say_once("the policy is not used, it cannot be understood", where);
    } else if (all.policy->implementation != all.library.implementation ||
               all.policy->major != all.library.major()) {
        all.policy.reset();
        if (all.world.rank == 0)
            say_once("the policy is not used, it is for another MPI library or version");
    }
}

/// Number of the node of each world rank: ranks that share memory.
bool learn_nodes(Tuning& all) {
    MPI_Comm node{};
    int leader = all.world.rank;
    if (library.Comm_split_type(all.world.comm, MPI_COMM_TYPE_SHARED, all.world.rank, handles.info_null,
                                &node) != MPI_SUCCESS)
        return false;
    all.node_of_rank.resize(size_t(all.world.size));
    const bool told = library.Bcast(&leader, sizeof leader, handles.byte, 0, node) == MPI_SUCCESS &&
                      library.Allgather(&leader, sizeof leader, handles.byte, all.node_of_rank.data(),
                                        sizeof leader, handles.byte, all.world.comm) == MPI_SUCCESS;
    library.Comm_free(&node);
    if (told)
        all.nodes = {all.node_of_rank, tune::number_nodes(all.node_of_rank)};
    return told;
}

/// Whether writing the variables of another algorithm can disturb what another thread does at the same time.
bool may_switch(const Tuning& all) noexcept { return !all.many_threads; }

/// The candidates that every rank has: those of the library that it lets us switch to, ours, and those of the
/// policy.
bool learn_candidates(Tuning& all) {
    all.catalogue = tune::Catalogue(may_switch(all) ? all.library : tune::Library{});
    for (const coll::Algorithm* one : coll::algorithms())
        all.catalogue.add_own(one->collective, one->name);
    if (all.policy)
        for (const tune::Rule& rule : all.policy->rules)
            all.catalogue.find(rule.collective, rule.candidate);
    const uint32_t count = all.catalogue.size();
    all.settings.resize(count);
    all.algorithms.resize(count);
    all.usable.assign(count, true);
    std::vector<uint64_t> lacking(count);
    for (uint32_t at = 0; at < count; ++at) {
        const tune::Candidate& one = all.catalogue[at];
        bool here = true;
        for (const tune::Write& write : one.writes)
            here = here && (all.settings[at].open(write.variable, write.value) || write.orders_components());
        for (const coll::Algorithm* own : coll::algorithms())
            if (one.kind == tune::Kind::own && one.name.substr(4) == own->name &&
                one.collective == own->collective)
                all.algorithms[at] = own;
        lacking[at] = !here;
    }
    const bool agreed = world::allreduce_max(all.world, lacking);
    for (uint32_t at = 0; at < count; ++at)
        all.usable[at] = lacking[at] == 0;
    return agreed;
}

/// Ranks of a communicator as ranks of the world; empty when it is to be left alone.
std::vector<int32_t> members_of(MPI_Comm comm, const Tuning& all, int& rank) {
    int inter = 0, size = 0;
    MPI_Group group{};
    if (library.Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter ||
        library.Comm_size(comm, &size) != MPI_SUCCESS || size < 2 ||
        library.Comm_group(comm, &group) != MPI_SUCCESS)
        return {};
    std::vector<int> here(static_cast<size_t>(size)), members(here.size());
    std::iota(here.begin(), here.end(), 0);
    const int code = library.Group_translate_ranks(group, size, here.data(), all.world_group, members.data());
    library.Group_rank(group, &rank);
    library.Group_free(&group);
    if (code != MPI_SUCCESS)
        return {};
    for (const int member : members)
        if (member < 0 || member >= all.world.size)
            return {};
    return members;
}

std::unique_ptr<Space> make_space(MPI_Comm comm, Tuning& all) {
    int rank = 0;
    const std::vector<int32_t> members = members_of(comm, all, rank);
    if (members.empty())
        return nullptr;
    auto space = std::make_unique<Space>();
    space->rank = rank;
    space->size = int(members.size());
    const std::lock_guard held(all.lock);
    // Threads may come in another order on another rank: then nothing learnt on one communicator serves
    // another.
    const uint64_t identity = all.many_threads ? all.serial++ : tune::identity_of(members);
    std::shared_ptr<Knowledge>& known = all.known[identity];
    if (!known) {
        known = std::make_shared<Knowledge>();
        known->identity = identity;
        known->shape = tune::shape_of(members, all.nodes);
        known->rank = rank;
        known->of_world = !all.many_threads && space->size == all.world.size &&
                          std::is_sorted(members.begin(), members.end());
    }
    ++known->spaces;
    space->keeps = known;
    space->knowledge = known.get();
    return space;
}

bool write_out(const Tuning& all, const std::string& keys) {
    const std::string path = all.policy_out, temporary = path + ".part";
    uint32_t most = 0;
    std::vector<uint32_t> ranks(all.nodes.count);
    for (const uint32_t node : all.node_of_rank)
        most = std::max(most, ++ranks[node]);
    {
        std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
        file << "{\n \"mpiric_policy\": 1,\n \"mpi\": {\"implementation\": \"" << all.library.implementation
             << "\", \"version\": \"" << all.library.version_text() << "\"},\n"
             << where_and_when() << " \"world\": {\"ranks\": " << all.world.size
             << ", \"nodes\": " << all.nodes.count << ", \"ranks_per_node\": " << most << "},\n \"keys\": ["
             << keys << "\n ]\n}\n";
        file.close();
        if (file && std::rename(temporary.c_str(), path.c_str()) == 0)
            return true;
    }
    std::remove(temporary.c_str());
    return false;
}

/// The texts of all ranks on rank 0, with commas between those that are not empty.
bool gather(const Tuning& all, std::string& text) {
    constexpr int tag = 3;
    const world::ShadowComm& shadow = all.world;
    uint64_t bytes = text.size();
    if (shadow.rank != 0)
        return library.Send(&bytes, sizeof bytes, handles.byte, 0, tag, shadow.comm) == MPI_SUCCESS &&
               (bytes == 0 ||
                library.Send(text.data(), int(bytes), handles.byte, 0, tag, shadow.comm) == MPI_SUCCESS);
    for (int from = 1; from < shadow.size; ++from) {
        std::string theirs;
        if (library.Recv(&bytes, sizeof bytes, handles.byte, from, tag, shadow.comm, MPI_STATUS_IGNORE) !=
            MPI_SUCCESS)
            return false;
        theirs.resize(bytes);
        if (bytes && library.Recv(theirs.data(), int(bytes), handles.byte, from, tag, shadow.comm,
                                  MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return false;
        text += (text.empty() || theirs.empty() ? "" : ",") + theirs;
    }
    return true;
}

/// Programs make communicators of all ranks again and again, of other ranks mostly once: what lies beside the
/// former stays for the next. All ranks count these alike.
bool stays(Tuning& all, Knowledge& known) noexcept {
    if (all.many_threads || known.shape.ranks != uint32_t(all.world.size))
        return false;
    if (!known.stays && all.staying < most_staying) {
        known.stays = true;
        ++all.staying;
    }
    return known.stays;
}

void free_shadow_comms(Knowledge& known) noexcept {
    coll::Team::free(known.shadows.team);
    for (auto& [candidate, shadow] : known.shadows.alternatives)
        world::free_shadow_comm(shadow);
    world::free_shadow_comm(known.shadows.shadow);
    known.shadows = {};
    known.calls = 0;
}

/// Whether communicators of the same ranks that come later, or the learned policy, have something of it. The
/// same on all of its ranks: another that forgot would count calls otherwise.
bool is_worth_keeping(const Tuning& all, const Knowledge& known) noexcept {
    if (all.many_threads && (!all.rules.writes_policy || all.known.size() > most_left_over))
        return std::any_of(known.lessons.begin(), known.lessons.end(),
                           [](const auto& one) { return one.second.under_way > 0; });
    return std::any_of(known.lessons.begin(), known.lessons.end(), [](const auto& one) {
        const Lesson& lesson = one.second;
        return lesson.learner || std::any_of(lesson.stretches.begin(), lesson.stretches.end(),
                                             [](const Stretch& part) { return part.choice >= 0; });
    });
}

/// What a communicator has learnt about the forms that do not block goes to what is known of its ranks. A
/// lesson stays where it is in memory: requests under way point to it.
void keep_lessons(Tuning& all, Space& space) {
    if (!space.started)
        return;
    for (auto& [key, lesson] : space.started->lessons)
        lesson.calls =
            space.started->entries[key / tune::class_count - blocking_count][key % tune::class_count].calls;
    space.knowledge->lessons.merge(space.started->lessons);
    std::erase_if(space.started->lessons, [](const auto& one) { return one.second.under_way == 0; });
    if (!space.started->lessons.empty())
        all.left.push_back(std::move(space.started->lessons));
}

void say_that_ranks_lack() {
    say_once("still waiting for ranks of the job in MPI_Init",
             "all need LD_PRELOAD and MPIRIC_COLLECTIVES, which mpirun of Open MPI passes on with -x");
}

}  // namespace

void begin_tuning(const Options& options, int thread_level, bool was_spawned) noexcept try {
    Tuning& all = tuning();
    if (options.collectives == Collectives::off || all.active ||
        !world::rendezvous(handles.comm_world, say_that_ranks_lack) ||
        !world::make_shadow_comm(handles.comm_world, all.world))
        return;
    if (!was_spawned)
        all.policy_out = options.policy_out;
    std::string policy;
    std::array<uint64_t, 1> level = {uint64_t(thread_level == MPI_THREAD_MULTIPLE)};
    all.library = tune::library_of(world::version_text());
    library.Comm_group(all.world.comm, &all.world_group);
    if (!share_rules(options, all, policy) || !world::allreduce_max(all.world, level) || !learn_nodes(all))
        return;
    all.many_threads = level[0] != 0;
    take_policy(all, policy);
    all.active = learn_candidates(all) && all.rules.mode != Collectives::off;
} catch (...) {
    say_once("collectives are left to the library", "memory is short");
}

void end_tuning() noexcept try {
    Tuning& all = tuning();
    if (!all.active)
        return;
    all.active = false;
    world::invalidate_caches();
    for (const auto& [handle, space] : all.spaces)
        if (space)
            keep_lessons(all, *space);
    if (!all.rules.writes_policy)
        return;
    std::vector<std::shared_ptr<Knowledge>> mine;
    for (const auto& [identity, known] : all.known)
        if (known->rank == 0)
            mine.push_back(known);
    std::string keys = learned_keys(mine, all.catalogue);
    if (gather(all, keys) && all.world.rank == 0 && !write_out(all, keys))
        say_once("the learned policy cannot be written", all.policy_out);
} catch (...) {
    say_once("the learned policy is not written", "memory is short");
}

Space* find_space(MPI_Comm comm) noexcept try {
    Tuning& all = tuning();
    if (!all.active || comm == handles.comm_null)
        return nullptr;
    const uint32_t now = world::generation.load(std::memory_order_acquire);
    const uint64_t handle = world::number(comm);
    {
        const std::lock_guard held(all.lock);
        if (const auto known = all.spaces.find(handle); known != all.spaces.end()) {
            remembered_space(comm) = {comm, now, known->second.get()};
            return known->second.get();
        }
    }
    std::unique_ptr<Space> space = make_space(comm, all);
    Space* found = space.get();
    {
        const std::lock_guard held(all.lock);
        all.spaces[handle] = std::move(space);
    }
    remembered_space(comm) = {comm, now, found};
    return found;
} catch (...) {
    return nullptr;
}

void forget_space(MPI_Comm comm) noexcept {
    Tuning& all = tuning();
    if (!all.active)
        return;
    std::unique_ptr<Space> space;
    {
        const std::lock_guard held(all.lock);
        const auto known = all.spaces.find(world::number(comm));
        if (known == all.spaces.end())
            return;
        space = std::move(known->second);
        all.spaces.erase(known);
        if (space)
            keep_lessons(all, *space);
    }
    world::invalidate_caches();
    if (!space || --space->knowledge->spaces > 0 || stays(all, *space->knowledge))
        return;
    free_shadow_comms(*space->knowledge);
    const std::lock_guard held(all.lock);
    if (!is_worth_keeping(all, *space->knowledge))
        all.known.erase(space->knowledge->identity);
}

}  // namespace mpiric::select

// The layer that tunes collectives.
#include "select/tuner.hpp"

#include "base/say.hpp"
#include "base/text.hpp"
#include "profile/context.hpp"
#include "world/merge.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>
#include <sys/stat.h>

namespace mpiric::select {

Tuner& tuner() noexcept {
    static union Forever {
        Tuner tuner;
        Forever() : tuner() {}
        ~Forever() {}  // ranks use it until the process is gone
    } forever;
    return forever.tuner;
}

namespace {

using world::handles;
using world::library;

/// Nothing but a regular file is read as a policy: a pipe or a device could go on for ever.
bool is_small_file(const char* path) {
    constexpr off_t most_bytes = off_t{64} << 20;
    struct stat status{};
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
           status.st_size <= most_bytes;
}

/// Gives rank 0's rules and policy to every rank.
bool share_rules(const Options& options, Tuner& all, std::string& policy) {
    Rules& rules = all.basis.rules;
    if (all.world.rank == 0) {
        rules = rules_of(options, *all.policy_out && options.all_come_to_finalize);
        if (*options.policy && (!is_small_file(options.policy) || !read_file(options.policy, policy))) {
            policy.clear();
            say_once("the policy cannot be read", options.policy);
        }
        rules.policy_bytes = policy.size();
    }
    if (!world::broadcast(all.world, &rules, sizeof rules))
        return false;
    policy.resize(rules.policy_bytes);
    return world::broadcast(all.world, policy.data(), policy.size());
}

/// Reads the policy; a policy that is malformed or for another library is not used, and rank 0 reports it.
void take_policy(Tuner& all, const std::string& text) {
    if (text.empty())
        return;
    uint32_t line = 0;
    std::optional<tune::Policy>& policy = all.basis.policy;
    policy = tune::read_policy(text, line);
    char where[64];
    std::snprintf(where, sizeof where, "line %u", line);
    if (!policy) {
        if (all.world.rank == 0)
            say_once("the policy is not used, it cannot be understood", where);
    } else if (policy->implementation != all.library.implementation || policy->major != all.library.major()) {
        policy.reset();
        if (all.world.rank == 0)
            say_once("the policy is not used, it is for another MPI library or version");
    }
}

/// Learns the node of each world rank: ranks that share memory.
bool learn_nodes(Tuner& all) {
    all.node_of_rank = world::node_leaders(all.world);
    all.nodes = {all.node_of_rank, tune::number_nodes(all.node_of_rank)};
    return !all.node_of_rank.empty();
}

/// Lists the library's algorithms, ours, and the candidates of the policy. Writing the variables of another
/// algorithm of the library can disturb other threads that use it at the same time.
tune::Catalogue list_candidates(const Tuner& all) {
    tune::Catalogue catalogue(all.many_threads ? tune::Library{} : all.library);
    for (const coll::Algorithm* algorithm : coll::algorithms())
        catalogue.add_own(algorithm->collective, algorithm->name);
    if (all.basis.policy)
        for (const tune::Rule& rule : all.basis.policy->rules)
            catalogue.find(rule.collective, rule.candidate);
    return catalogue;
}

/// Learns which candidates every rank has.
bool learn_candidates(Tuner& all) {
    Basis& basis = all.basis;
    basis.catalogue = list_candidates(all);
    const uint32_t count = basis.catalogue.size();
    all.settings.resize(count);
    all.algorithms.resize(count);
    basis.usable.assign(count, true);
    basis.fixed_order.assign(count, false);
    std::vector<uint64_t> lacking(count);
    for (uint32_t at = 0; at < count; ++at) {
        const tune::Candidate& candidate = basis.catalogue[at];
        for (const coll::Algorithm* algorithm : coll::algorithms())
            if (candidate.collective == algorithm->collective &&
                candidate.name == std::string("own:") + algorithm->name) {
                all.algorithms[at] = algorithm;
                basis.fixed_order[at] = algorithm->order == coll::ReductionOrder::fixed;
            }
        for (const tune::Write& write : candidate.writes)
            if (!all.settings[at].open(write.variable, write.value) && !write.orders_components())
                lacking[at] = 1;
    }
    const bool agreed = world::allreduce_max(all.world, lacking);
    for (uint32_t at = 0; at < count; ++at)
        basis.usable[at] = lacking[at] == 0;
    return agreed;
}

/// In MPI_Init, collectively over the world; without it nothing is tuned.
void begin_tuning(ProgramWorld& world) noexcept try {
    const Options& options = runtime.options;
    Tuner& all = tuner();
    const auto say_that_ranks_lack = [] {
        say_once("still waiting for ranks of the job in MPI_Init",
                 "all need LD_PRELOAD and MPIRIC_COLLECTIVES, which mpirun of Open MPI passes on with -x");
    };
    if (world.of_sessions || all.active || !world::rendezvous(handles.comm_world, say_that_ranks_lack) ||
        !world::make_shadow_comm(handles.comm_world, all.world))
        return;
    world::early_end = {learned_so_far, write_learned};
    if (!world.spawned)
        all.policy_out = options.policy_out;
    std::string policy;
    std::array<uint64_t, 1> many_threads = {uint64_t(world.thread_level == MPI_THREAD_MULTIPLE)};
    all.library = tune::library_of(world::version_text());
    library.Comm_group(all.world.comm, &all.world_group);
    if (!share_rules(options, all, policy) || !world::allreduce_max(all.world, many_threads) ||
        !learn_nodes(all))
        return;
    all.many_threads = many_threads[0] != 0;
    take_policy(all, policy);
    all.active = learn_candidates(all) && all.basis.rules.mode != Collectives::off;
} catch (...) {
    say_once("collectives are left to the library", "memory is short");
}

}  // namespace

extern constinit const Layer layer_collective_tuner;
constinit const Layer layer_collective_tuner{
    .name = "collective tuner",
    .enabled = [](const Options& options) noexcept { return options.collectives != Collectives::off; },
    .interest =
        [](symbols::Function function) noexcept {
            if (tuned(function).next)
                return Interest::replace;
            // Functions that start, complete and free requests, some of which may be timed.
            using enum symbols::Family;
            const symbols::Family family = symbols::family_of(function);
            const bool handles_requests = family == start || family == wait || family == poll ||
                                          function == symbols::Function::MPI_Request_free;
            return tuner().watches_completions && handles_requests ? Interest::watch : Interest::none;
        },
    .replace = insert_tuned,
    .on_init = begin_tuning,
    .on_finalize = end_tuning,
};

}  // namespace mpiric::select

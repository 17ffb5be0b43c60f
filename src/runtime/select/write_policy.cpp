// The learned policy, which rank 0 writes at the end of tuning or of the run (spec/formats/policy.md).
#include "base/own_file.hpp"
#include "base/say.hpp"
#include "select/decision/learned_keys.hpp"
#include "select/tuner.hpp"
#include "system/text.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <unistd.h>

namespace mpiric::select {
namespace {

/// Adds to a list of keys, with a comma between two that are not empty.
void append(std::string& keys, const std::string& more) {
    keys += (keys.empty() || more.empty() ? "" : ",") + more;
}

/// The date and the kind of CPU, as lines of the learned policy.
std::string date_and_machine() {
    char facts[4096], cpu[128], date[32] = "";
    system::read_file("/proc/cpuinfo", facts, sizeof facts);
    system::text_after(facts, "model name", cpu, sizeof cpu);
    const auto is_plain = [](char sign) { return sign >= ' ' && sign <= '~' && sign != '"' && sign != '\\'; };
    std::replace_if(cpu, cpu + std::strlen(cpu), [&](char sign) { return !is_plain(sign); }, '?');
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    if (gmtime_r(&now, &utc))
        std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    std::string text = formatted(" \"written\": \"%s\",\n", date);
    if (*cpu)
        text += formatted(" \"machine\": {\"cpu\": \"%s\"},\n", cpu);
    return text;
}

/// Writes the file under a temporary name, then renames it.
bool write_policy(const Tuner& all, const std::string& keys) {
    const std::string path = all.policy_out;
    const std::string temporary = path + "." + std::to_string(getpid()) + ".part";
    uint32_t most = 0;
    std::vector<uint32_t> ranks(all.nodes.count);
    for (const uint32_t node : all.node_of_rank)
        most = std::max(most, ++ranks[node]);
    const int descriptor = create_file(temporary.c_str(), O_WRONLY, 0666);
    if (descriptor < 0)
        return false;
    const std::string text =
        "{\n \"mpiric_policy\": 2,\n \"mpi\": {\"implementation\": \"" + all.library.implementation +
        "\", \"version\": \"" + all.library.version_text() + "\"},\n" + date_and_machine() +
        formatted(" \"world\": {\"ranks\": %d, \"nodes\": %zu, \"ranks_per_node\": %u},\n \"keys\": [",
                  all.world.size, size_t(all.nodes.count), most) +
        keys + "\n ]\n}\n";
    std::FILE* stream = fdopen(descriptor, "wb");
    const bool written = stream && std::fwrite(text.data(), 1, text.size(), stream) == text.size();
    if (stream && std::fclose(stream) == 0 && written && std::rename(temporary.c_str(), path.c_str()) == 0)
        return true;
    std::remove(temporary.c_str());
    return false;
}

/// Joins the parts of all ranks, with a comma between two that are not empty, and writes the policy.
void write_parts(const Tuner& all, std::span<const std::string> of_ranks) {
    std::string keys;
    for (const std::string& part : of_ranks)
        append(keys, part);
    if (!write_policy(all, keys))
        say_once("the learned policy cannot be written", all.policy_out);
}

/// Keys of the groups in which this rank is the first.
std::string keys_of_groups(const Tuner& all) {
    std::string keys;
    for (const auto& [identity, group] : all.states.groups)
        if (group->rank == 0)
            append(keys, learned_keys(group->shape, group->blocking, all.basis.catalogue));
    return keys;
}

}  // namespace

std::string learned_so_far() noexcept try {
    Tuner& all = tuner();
    // Another thread may be in the middle of learning.
    if (!all.active || !all.basis.rules.writes_policy || all.many_threads)
        return {};
    std::string keys = keys_of_groups(all);
    for (const auto& [handle, state] : all.states.comms)
        if (state && state->started && state->group->rank == 0)
            append(keys, learned_keys(state->group->shape, state->started->table, all.basis.catalogue));
    return keys;
} catch (...) {
    say_once("the learned policy is not whole", "memory is short");
    return {};
}

void write_learned(std::span<const std::string> of_ranks) noexcept try {
    const Tuner& all = tuner();
    if (all.active && all.basis.rules.writes_policy && !all.many_threads)
        write_parts(all, of_ranks);
} catch (...) {
    say_once("the learned policy is not written", "memory is short");
}

void end_tuning(const ProgramWorld&) noexcept try {
    Tuner& all = tuner();
    if (!all.active)
        return;
    all.active = false;
    world::invalidate_caches();
    for (const auto& [handle, state] : all.states.comms)
        if (state)
            keep_explorations(*state, all.states.orphans);
    if (!all.basis.rules.writes_policy)
        return;
    std::vector<std::string> of_ranks;
    if (world::gather(all.world, keys_of_groups(all), of_ranks) && all.world.rank == 0)
        write_parts(all, of_ranks);
} catch (...) {
    say_once("the learned policy is not written", "memory is short");
}

}  // namespace mpiric::select

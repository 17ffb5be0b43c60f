// What the tuner of this process holds, for the files that make it up.
#pragma once

#include "select/tuner.hpp"

#include <mutex>
#include <optional>

namespace mpiric::select {

/// What rank 0 of the world decides for all.
struct Rules {
    Collectives mode = Collectives::off;
    double learn_at_most = 0;
    bool reprove = true;
    bool reproducible = false;
    bool writes_policy = false;
    uint32_t learn_ranks = 2;
    uint64_t learn_only = 0;  ///< a bit for each collective
    uint64_t scratch_bytes = coll::scratch_limit_bytes;
    uint64_t policy_bytes = 0;
    uint64_t thread_level = 0;
};

struct Tuning {
    bool active = false;
    Rules rules;
    bool many_threads = false;
    tune::Library library;
    tune::Catalogue catalogue;
    std::vector<world::Settings> settings;           ///< by candidate
    std::vector<const coll::Algorithm*> algorithms;  ///< by candidate; null for those of the library
    std::vector<bool> usable;                        ///< by candidate: on every rank
    std::optional<tune::Policy> policy;
    std::vector<uint32_t> node_of_rank;
    tune::Nodes nodes;
    world::ShadowComm world;
    MPI_Group world_group{};
    const char* policy_out = "";

    std::mutex lock;                                                 ///< of the two maps
    std::unordered_map<uint64_t, std::unique_ptr<Space>> spaces;     ///< by handle; null: left alone
    std::unordered_map<uint64_t, std::shared_ptr<Knowledge>> known;  ///< by who is in it
    std::vector<Lessons> left;  ///< by freed communicators, with calls under way
    uint64_t serial = 0;
    uint32_t staying = 0;  ///< knowledge of which what lies beside stays
};

/// Made once, never taken apart: ranks may be inside it while the process ends.
Tuning& tuning() noexcept;

constexpr uint32_t lesson_key(Collective collective, uint32_t size_class) noexcept {
    return uint32_t(collective) * tune::class_count + size_class;
}

}  // namespace mpiric::select

// The tuner of this process: its state for the job, and its beginning and end.
#pragma once

#include "base/handle_bag.hpp"
#include "base/options.hpp"
#include "coll/algorithm.hpp"
#include "select/comm_state.hpp"
#include "select/decision/exploration.hpp"
#include "symbols/layer.hpp"
#include "tune/candidate.hpp"
#include "tune/shape.hpp"
#include "world/agreement.hpp"
#include "world/control.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mpiric::select {

/// A request of a collective that is timed from start to completion.
struct TimedRequest {
    Exploration* exploration = nullptr;
    uint64_t begin_ns = 0;
};

/// One thread at a time is in MPI: with more, nothing is learned about the library's algorithms.
struct TimedRequests {
    HandleBag<TimedRequest> in_use, unused;
};

struct Tuner {
    bool active = false;
    bool many_threads = false;
    Basis basis;
    std::vector<world::Settings> settings;  ///< indexed by candidate
    /// Indexed by candidate; null for candidates of the library.
    std::vector<const coll::Algorithm*> algorithms;
    tune::Library library;
    std::vector<uint32_t> node_of_rank;
    tune::Nodes nodes;
    world::ShadowComm world;
    MPI_Group world_group{};
    const char* policy_out = "";
    bool watches_completions =
        false;  ///< starts and completions of requests are reported to dispatch_started.cpp
    TimedRequests timed_requests;
    CommStates states;
};

/// Made once, never destroyed: ranks may be inside it while the process ends.
Tuner& tuner() noexcept;

/// The tuner's functions for the MPI_ name and for the PMPI_ name; nulls for a function that is not tuned.
symbols::NextFunction tuned(symbols::Function function) noexcept;

/// Puts the tuner's functions before the following ones.
void insert_tuned(symbols::Function function, symbols::NextFunction& following) noexcept;

/// Ends tuning before MPI_Finalize, collectively over the world, and writes the learned policy.
void end_tuning(const ProgramWorld& world) noexcept;

/// This rank's part of the learned policy while tuning goes on; empty where no policy is written.
std::string learned_so_far() noexcept;

/// Writes the learned policy from the parts of all ranks, if a policy is to be written. On rank 0.
void write_learned(std::span<const std::string> of_ranks) noexcept;

}  // namespace mpiric::select

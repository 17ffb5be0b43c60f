// Memory that the ranks of one node share: each has a ring of slots it alone writes and all others read.
//
// All ranks go through the same numbered steps. In a step a rank may publish one slot, may read the slots
// that others publish, and then finishes the step. A slot is used again `depth` steps later, and only after
// every rank has finished the step it was last used in: nothing else has to be waited for, so a short
// collective costs one cache line from each rank that is read. Ranks of a node must take the same number of
// steps in a call.
#pragma once

#include "coll/shared_memory.hpp"
#include "world/library.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sys/types.h>
#include <vector>

namespace mpiric::coll {

class Board {
  public:
    /// Collective over `node`, a communicator of the ranks that share memory. All have a board, or none.
    /// Messages that are waited for move on `comm`.
    static Board* make(MPI_Comm node, MPI_Comm comm) noexcept;
    Board(const Board&) = delete;
    Board& operator=(const Board&) = delete;

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return size_; }
    uint32_t slot_bytes() const noexcept { return slot_bytes_; }
    /// Whether read() works between all ranks of the node.
    bool direct_reads() const noexcept { return direct_reads_; }

    /// Room for `bytes` ≤ slot_bytes() in this rank's slot of the current step.
    char* fill(uint64_t bytes) noexcept;
    /// Shows the slot to the others.
    void publish() noexcept;
    /// What `rank` publishes in this step; waits for it. `bytes` must be what its fill() was given.
    const char* look(int rank, uint64_t bytes) noexcept;
    /// Data that this rank has published in this step.
    const char* own(uint64_t bytes) const noexcept { return data_of(rank_, bytes); }
    /// Ends the step for this rank.
    void finish() noexcept;
    /// Waits until every rank has finished the steps that this one has.
    void await_all() noexcept {
        for (int other = 0; other < size_; ++other)
            wait_finished(other, step_);
    }
    /// Waits until one rank has finished this step, which this one has not.
    void await_step_of(int rank) noexcept { wait_finished(rank, step_ + 1); }

    /// Publishes a value, and the value that another rank publishes in this step.
    template <class Value> void announce(const Value& value) noexcept {
        std::memcpy(fill(sizeof value), static_cast<const void*>(&value), sizeof value);
        publish();
    }
    template <class Value> Value announced_by(int rank) noexcept {
        Value value;
        std::memcpy(static_cast<void*>(&value), look(rank, sizeof value), sizeof value);
        return value;
    }

    /// Steps that this rank has finished.
    uint64_t steps() const noexcept { return step_; }
    /// Takes over that every rank has finished `steps` steps, known from elsewhere: no rank is asked.
    void know_finished(uint64_t steps) noexcept { finished_by_all_ = std::max(finished_by_all_, steps); }

    /// Copies from the memory of another rank of the node; false when the system refused.
    bool read(int rank, const void* from, void* into, uint64_t bytes) const noexcept;

  private:
    static constexpr unsigned depth = 8;
    static constexpr size_t line = 64;
    static constexpr size_t short_bytes = line - sizeof(uint64_t);

    struct Head;
    struct Slot;

    Board() = default;
    /// Allocates the state kept of each rank; false when memory is short.
    bool remember(int size) noexcept;
    Head& head(int rank) const noexcept;
    Slot& slot(int rank) const noexcept;
    char* data_of(int rank, uint64_t bytes) const noexcept;
    void wait_finished(int rank, uint64_t step) noexcept;
    bool try_direct_reads() noexcept;

    SharedMemory memory_;
    MPI_Comm comm_{};
    size_t stride_ = 0;  ///< bytes of one rank's part
    int rank_ = 0, size_ = 0;
    uint32_t slot_bytes_ = 0;
    bool direct_reads_ = false;
    uint64_t step_ = 0, finished_by_all_ = 0;
    std::vector<uint64_t> finished_;  ///< last known of each rank
    std::vector<pid_t> pids_;
};

}  // namespace mpiric::coll

// Waiting for another rank: briefly on the spot, then letting others have the core and the library its
// progress. The second matters beyond speed: the rank waited for may itself wait for a message of ours that
// only moves while we are inside the library.
//
// How long "briefly" is, giving up the core has taught: when it comes back at once, nobody else wanted it;
// when it does not, ranks share cores, and whoever waits on the spot holds up the rank it waits for.
#pragma once

#include "base/clock.hpp"
#include "world/library.hpp"

#include <algorithm>
#include <processor.hpp>
#include <sched.h>
#include <span>

namespace mpiric::world {

/// Estimate of the load on this thread's core.
class Core {
  public:
    static constexpr int most_spins = 200;

    int spins() const noexcept { return spins_; }

    void give_up() noexcept {
        const uint64_t begin = now_ns();
        sched_yield();
        // Two switches of context, there and back, take longer than this; the bare call does not.
        constexpr uint64_t taken_ns = 2'500;
        spins_ = now_ns() - begin > taken_ns ? spins_ / 2 : std::min(spins_ + 8, most_spins);
    }

  private:
    int spins_ = most_spins;
};
inline thread_local constinit Core core;

/// For memory that another rank writes.
class Patience {
  public:
    explicit Patience(MPI_Comm comm) noexcept : left_(core.spins()), comm_(comm) {}

    void once() noexcept {
        if (left_ > 0) {
            --left_;
            rest();
            return;
        }
        core.give_up();
        if (++yields_ % 4 == 0) {
            int found = 0;
            library.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, MPI_STATUS_IGNORE);
        }
    }

  private:
    int left_;
    unsigned yields_ = 0;
    MPI_Comm comm_;
};

/// Asks the library until it says that something is done; `done(flag)` gives an error code.
template <class Done> int wait_until(Done&& done) noexcept {
    constexpr int spins_per_question = 4;
    for (int left = core.spins() / spins_per_question;; --left) {
        int flag = 0;
        if (const int code = done(&flag); code != MPI_SUCCESS || flag)
            return code;
        if (left <= 0)
            core.give_up();
    }
}

/// Waits for messages: a library may spin where ranks share cores, or nap where they do not.
inline int complete(std::span<MPI_Request> requests) noexcept {
    if (requests.size() == 1)
        return wait_until([&](int* flag) { return library.Test(requests.data(), flag, MPI_STATUS_IGNORE); });
    return wait_until([&](int* flag) {
        return library.Testall(int(requests.size()), requests.data(), flag, MPI_STATUSES_IGNORE);
    });
}

}  // namespace mpiric::world

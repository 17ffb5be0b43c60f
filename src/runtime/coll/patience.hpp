// Waiting for another rank of the node: briefly on the spot, then letting others have the core and the
// library its progress. The second matters beyond speed: the rank waited for may itself wait for a message of
// ours that only moves while we are inside the library.
#pragma once

#include "world/library.hpp"

#include <rest.hpp>
#include <sched.h>

namespace mpiric::coll {

class Patience {
  public:
    Patience(int spins, MPI_Comm comm) noexcept : left_(spins), comm_(comm) {}

    void once() noexcept {
        if (left_ > 0) {
            --left_;
            rest();
            return;
        }
        sched_yield();
        if (++yields_ % 4 == 0) {
            int found = 0;
            world::library.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, MPI_STATUS_IGNORE);
        }
    }

  private:
    int left_;
    unsigned yields_ = 0;
    MPI_Comm comm_;
};

}  // namespace mpiric::coll

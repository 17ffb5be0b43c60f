// Receives that are under way: how many bytes came is known when they complete, and goes to the cell that
// counted the call which posted them.
#pragma once

#include "base/handle_bag.hpp"
#include "base/spin_lock.hpp"
#include "profile/context.hpp"
#include "profile/format.hpp"
#include "world/datatypes.hpp"
#include "world/requests.hpp"

#include <cstdint>
#include <cstdlib>

namespace mpiric::record {

struct ReceivesUnderWay {
    HandleBag<profile::Cell*> cells;  ///< cell that counted the receive, by request
    SpinLock lock;                    ///< used when several threads call MPI
};
extern constinit ReceivesUnderWay under_way;

inline bool receives_under_way() noexcept { return !under_way.cells.empty(); }

void posted_among_threads(MPI_Request request, profile::Cell* cell) noexcept;
void completed_among_threads(MPI_Request request, const MPI_Status& status) noexcept;

/// Bytes of the message that a status is about, whatever its type; 0 for none, a cancelled one, or a send.
uint64_t bytes_received(const MPI_Status& status) noexcept;

/// A receive has been posted. A library may give a handle out again, to another thread, before its completion
/// has reached us: then there are two of it for a moment, and either may be taken first.
inline void receive_posted(MPI_Request request, profile::Cell* cell) noexcept {
    if (runtime.recorder.many_threads()) [[unlikely]]
        return posted_among_threads(request, cell);
    under_way.cells.put(world::number(request), cell);
}

/// Gives the bytes of a completed receive to the cell that posted it; nothing for other requests.
inline void receive_completed(MPI_Request request, const MPI_Status& status) noexcept {
    if (runtime.recorder.many_threads()) [[unlikely]]
        return completed_among_threads(request, status);
    if (profile::Cell* cell = nullptr; under_way.cells.take(world::number(request), cell))
        cell->bytes += bytes_received(status);
}

/// The receive is given up without a completion that could be asked.
void receive_forgotten(MPI_Request request) noexcept;

/// Room for a few on the stack, for many on the heap; empty when memory is short.
template <class Entry, int Few> class Room {
  public:
    explicit Room(int count) noexcept
        : many_(count > Few ? static_cast<Entry*>(std::malloc(sizeof(Entry) * size_t(count))) : nullptr),
          entries_(count > Few ? many_ : few_) {}
    ~Room() {
        if (many_)
            std::free(many_);
    }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    Entry* data() noexcept { return entries_; }

  private:
    Entry* many_;
    Entry* entries_;
    Entry few_[Few];
};

/// A call that may complete some of its requests: handles are noted before it, because it takes them away,
/// and statuses are given where the program ignores them.
template <int Few> class Completion {
  public:
    /// `statuses`: how many the call fills in.
    Completion(int requests, const MPI_Request handles[], int statuses, MPI_Status* given) noexcept
        : watched_(requests > 0 && (receives_under_way() || world::requests_watched())), requests_(requests),
          handles_now_(handles), given_(given), before_(watched_ ? requests : 0),
          own_(watched_ && ignored() ? statuses : 0) {
        watched_ = watched_ && before_.data() && own_.data();
        if (watched_)
            for (int at = 0; at < requests; ++at)
                before_.data()[at] = handles[at];
    }

    /// The array for the call to fill in.
    MPI_Status* statuses() noexcept { return watched_ && ignored() ? own_.data() : given_; }

    /// The request at a position is done, and this status of the call is its own.
    void done(int position, int status) noexcept {
        if (!watched_ || position < 0 || position >= requests_)
            return;
        receive_completed(before_.data()[position], statuses()[status]);
        if (world::requests_watched())
            world::requests.watched.completed(before_.data()[position]);
    }
    void all_done() noexcept {
        for (int at = 0; watched_ && at < requests_; ++at)
            done(at, at);
    }
    /// The call failed: requests that it has removed will not complete again.
    void failed() noexcept {
        for (int at = 0; watched_ && at < requests_; ++at)
            if (handles_now_[at] != before_.data()[at]) {
                receive_forgotten(before_.data()[at]);
                if (world::requests_watched())
                    world::requests.watched.completed(before_.data()[at]);
            }
    }

  private:
    bool ignored() const noexcept { return given_ == MPI_STATUS_IGNORE || given_ == MPI_STATUSES_IGNORE; }

    bool watched_;
    int requests_;
    const MPI_Request* handles_now_;
    MPI_Status* given_;
    Room<MPI_Request, Few> before_;
    Room<MPI_Status, Few> own_;
};

/// The same for a call about one request; `own` receives the status where the program ignores it. It is a
/// separate variable, so that the other members stay in registers.
class CompletionOfOne {
  public:
    CompletionOfOne(const MPI_Request* request, MPI_Status* given, MPI_Status& own) noexcept
        : watched_(request && (receives_under_way() || world::requests_watched())),
          status_(watched_ && given == MPI_STATUS_IGNORE ? &own : given), request_(request),
          before_(watched_ ? *request : MPI_Request{}) {}

    MPI_Status* status() const noexcept { return status_; }

    void done() const noexcept {
        if (!watched_)
            return;
        receive_completed(before_, *status_);
        if (world::requests_watched()) [[unlikely]]
            world::requests.watched.completed(before_);
    }
    void failed() const noexcept {
        if (!watched_ || *request_ == before_)
            return;
        receive_forgotten(before_);
        if (world::requests_watched())
            world::requests.watched.completed(before_);
    }

  private:
    bool watched_;
    MPI_Status* status_;
    const MPI_Request* request_;
    MPI_Request before_;
};

}  // namespace mpiric::record

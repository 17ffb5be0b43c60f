// The files of this process whose bytes are on the node's disk.
#pragma once

#include "files/node_local/links.hpp"

#include <atomic>
#include <cstdint>
#include <pthread.h>
#include <sys/types.h>

namespace mpiric::files::node_local {

/// One of them. All but `state` is written under its lock, exclusively; writes to its descriptor hold the
/// lock shared.
struct Staged {
    enum class State : uint8_t {
        free,
        open,    ///< by the program, under `descriptor`
        queued,  ///< closed, to be brought home
        kept     ///< closed, and could not be brought home: tried again at the end
    };
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    int descriptor = 0;  ///< -1: the program has it open no longer
    std::atomic<State> state{State::free};
    char own[PATH_MAX] = {};
    char local[PATH_MAX] = {};
};

inline constexpr int most_staged = 128;
extern constinit Staged staged_files[most_staged];

/// The one that this thread is writing to: a signal handler may have come from there.
inline thread_local constinit const Staged* written_here = nullptr;

/// Holds the lock of one exclusively for a scope; not where this thread holds it already, from which a signal
/// handler has come here.
class Alone {
  public:
    explicit Alone(Staged& staged) noexcept
        : staged_(staged), taken_(written_here != &staged && pthread_rwlock_wrlock(&staged.lock) == 0) {}
    ~Alone() {
        if (taken_)
            pthread_rwlock_unlock(&staged_.lock);
    }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;
    bool taken() const noexcept { return taken_; }

  private:
    Staged& staged_;
    bool taken_;
};

/// Finds the node's directory and makes ours in it; a sentence says why there is none.
bool begin_staging(const char* patterns, const char* directory) noexcept;

/// Nothing is made node-local from here on: a forked child shares what there is with its parent.
void leave_to_parent() noexcept;

/// Whether a rule fits the name of a path.
bool concerns(const char* path) noexcept;

/// Makes a file on the node's disk, as open(2) does. -1: it is to be made in its own place.
int stage(int directory, const char* path, int flags, mode_t mode) noexcept;

/// The file that a descriptor leads to; null where that is none of these.
Staged* staged_of(int descriptor) noexcept;
/// The file of a link, when this process has made it; else null.
Staged* staged_of(const Link& link) noexcept;

/// The program closes it: its descriptor is any other file's from here on.
void forget_descriptor(Staged& staged) noexcept;

}  // namespace mpiric::files::node_local

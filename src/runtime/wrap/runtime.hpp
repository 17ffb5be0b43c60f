// The one context of the runtime in this process.
#pragma once

#include "base/options.hpp"
#include "profile/recorder.hpp"
#include "world/library.hpp"

namespace mpiric::wrap {

struct Runtime {
    bool recording = false;  ///< read on every call; cleared by a pause, the end, or a fault of our own
    bool begun = false;      ///< recording has begun once in this process
    bool of_sessions = false;
    Options options;
    profile::Recorder recorder;
};
extern constinit Runtime runtime;

/// MPI has been initialised by the program: record from here, if a record is wanted.
void begin(MPI_Group world, int thread_level, bool of_sessions) noexcept;

/// Whether the parent is another MPI job: what we write is apart from its.
bool was_spawned() noexcept;

/// The program is about to leave MPI: close the record, and merge it with the others' when that was asked
/// for.
void end() noexcept;

/// Something of our own went wrong, or we are a forked child: never again in this process.
void stop() noexcept;

}  // namespace mpiric::wrap

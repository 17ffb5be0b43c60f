// The context of the runtime in this process: its options and its recorder.
#pragma once

#include "base/options.hpp"
#include "profile/recorder.hpp"

namespace mpiric {

struct Runtime {
    bool recording = false;  ///< read on every call; cleared by a pause, the end, or a fault of our own
    bool begun = false;      ///< recording has begun once in this process
    Options options;
    profile::Recorder recorder;
};
inline constinit Runtime runtime;

}  // namespace mpiric

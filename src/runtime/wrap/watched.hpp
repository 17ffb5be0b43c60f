// A call of libc's that is counted when it is the program's own.
#pragma once

#include "base/thread.hpp"
#include "files/descriptors.hpp"
#include "posix/posix.hpp"
#include "profile/context.hpp"

#include <cstring>
#include <sys/types.h>
#include <processor.hpp>

namespace mpiric::wrap {

template <class Pointer> Pointer real(Posix which) noexcept {
    return reinterpret_cast<Pointer>(next_posix(static_cast<uint32_t>(which)));
}

/// Whether this call is the program's own: reads and writes of MPI and of the runtime are not, nor are calls
/// of a signal handler that has interrupted code that holds a lock of ours.
inline bool counts(Thread& self) noexcept {
    return runtime.recording && self.locks_held == 0 && !nested(self);
}

/// Calls the function and, if the call counts, hands its result and duration to `tell`. errno is the call's.
template <class Do, class Tell> auto watched(Do&& call, Tell&& tell) {
    Thread& self = thread;
    if (!counts(self))
        return call();
    const Inside inside(self);
    const uint64_t begin = ticks();
    auto result = call();
    const uint64_t end = ticks();
    tell(result, end - begin);
    runtime.recorder.in_files(begin, end);
    return result;
}

inline int64_t bytes_of(ssize_t result) noexcept { return int64_t(result); }

/// Whether the last of some bytes, of which there are any, ends a line.
inline bool ends_line(const void* from, ssize_t bytes) noexcept {
    return static_cast<const char*>(from)[bytes - 1] == '\n';
}
inline bool ends_line(const char* text) noexcept {
    return *text && ends_line(text, ssize_t(std::strlen(text)));
}

}  // namespace mpiric::wrap

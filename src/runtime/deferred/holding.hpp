// Common parts of deferred output: one lock, libc's own functions, writing to the end.
#pragma once

#include "deferred/state.hpp"
#include "posix/posix.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <pthread.h>

namespace mpiric::deferred {

/// The function of libc with this name, past any wrapper.
template <class Pointer> Pointer libc(Posix which) noexcept {
    return reinterpret_cast<Pointer>(libc_posix(static_cast<uint32_t>(which)));
}

/// How long a thread waits for another that is writing out what is held.
enum class Patience : uint8_t { always, briefly };

/// Holds, for a scope, the lock on all that is held back. A signal handler that has interrupted its holder
/// gets it not: it sees taken() false and goes straight to libc.
class Holding {
  public:
    explicit Holding(Patience patience = Patience::always) noexcept;
    ~Holding();
    bool taken() const noexcept { return taken_; }
    Holding(const Holding&) = delete;
    Holding& operator=(const Holding&) = delete;

  private:
    bool taken_ = false;
};

/// Whether this thread is in a function of stdio on the stream, from which a signal handler may have come
/// here, or keeps the others off it: its buffer is then none of ours.
inline bool is_locked_by_this_thread(const FILE* stream) noexcept {
    struct Lock {  // glibc's
        int lock, count;
        pthread_t owner;
    };
    return reinterpret_cast<const Lock*>(stream->_lock)->owner == pthread_self();
}

/// Memory of a buffer, zero bytes of which are touched before they are needed; null when there is none.
char* new_buffer(size_t bytes) noexcept;
void delete_buffer(char* buffer, size_t bytes) noexcept;

/// Writes `bytes` bytes to a descriptor, waiting where it would block; returns the number written. If it is
/// smaller than `bytes`, errno has the reason.
size_t write_fully(int descriptor, const char* from, size_t bytes) noexcept;

/// Bounds how late output is: starts a thread that is asleep while nothing is held, and writes held output
/// `after_ms` after bound_lateness() was called. False when it cannot be started: then nothing may be held.
bool begin_lateness(uint32_t after_ms, void (*write_out)()) noexcept;

/// Something is held from now on. Cheap where that is known already.
void bound_lateness() noexcept;

}  // namespace mpiric::deferred

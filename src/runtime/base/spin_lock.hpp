// A lock for a few instructions: profile tables under MPI_THREAD_MULTIPLE.
#pragma once

#include "base/thread.hpp"

#include <atomic>
#include <cstdint>
#include <processor.hpp>

namespace mpiric {

/// A spinning lock that never sleeps or allocates. Taken through Held.
class SpinLock {
  public:
    void lock() noexcept {
        while (held_.exchange(true, std::memory_order_acquire))
            while (held_.load(std::memory_order_relaxed))
                rest();
    }
    void unlock() noexcept { held_.store(false, std::memory_order_release); }

  private:
    std::atomic<bool> held_{false};
};

/// Holds a lock for a scope, if there is more than one thread to hold off.
class Held {
  public:
    Held(SpinLock& lock, bool needed) noexcept : lock_(needed ? &lock : nullptr) {
        if (!lock_)
            return;
        ++thread.locks_held;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        lock_->lock();
    }
    ~Held() {
        if (!lock_)
            return;
        lock_->unlock();
        std::atomic_signal_fence(std::memory_order_seq_cst);
        --thread.locks_held;
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

  private:
    SpinLock* lock_;
};

}  // namespace mpiric

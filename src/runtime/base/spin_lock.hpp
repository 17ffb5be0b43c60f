// A lock for a few instructions: profile tables under MPI_THREAD_MULTIPLE.
#pragma once

#include <atomic>
#include <rest.hpp>

namespace mpiric {

/// Spins; never sleeps, never allocates. Taken only where the holder cannot be interrupted by its own
/// wrappers.
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
        if (lock_)
            lock_->lock();
    }
    ~Held() {
        if (lock_)
            lock_->unlock();
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

  private:
    SpinLock* lock_;
};

}  // namespace mpiric

// Layouts that a file system has refused for good, so that it is not asked again for each file that is made.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <sys/types.h>

namespace mpiric::layouts {

/// The latest refusals of all threads, by file system and rule. Without any, a file costs only has_any().
class RefusedLayouts {
  public:
    /// Whether a refusal holds for the next file too: the file system has no layouts, not this one, or lets
    /// nobody set them. A refusal by a full disk or an unreachable server may be temporary.
    static constexpr bool lasts(int error) noexcept {
        return error == EOPNOTSUPP || error == EPERM || error == EACCES || error == EINVAL;
    }

    bool has_any() const noexcept { return next_.load(std::memory_order_relaxed) != 0; }

    /// `words`: a part of `rules`, which stay where they are.
    bool has(dev_t device, std::string_view words, std::string_view rules) const noexcept {
        for (const std::atomic<uint64_t>& kept : kept_)
            if (kept.load(std::memory_order_relaxed) == key(device, words, rules))
                return true;
        return false;
    }

    void add(dev_t device, std::string_view words, std::string_view rules) noexcept {
        const unsigned at = next_.fetch_add(1, std::memory_order_relaxed) % most;
        kept_[at].store(key(device, words, rules), std::memory_order_relaxed);
    }

  private:
    static constexpr unsigned most = 32;

    /// A device is 32 bits in the kernel. Never 0: a rule begins with its pattern, so its words are at an
    /// offset above 0.
    static uint64_t key(dev_t device, std::string_view words, std::string_view rules) noexcept {
        return uint64_t(device) << 32 | uint32_t(words.data() - rules.data());
    }

    std::atomic<uint64_t> kept_[most] = {};
    std::atomic<unsigned> next_{0};
};

}  // namespace mpiric::layouts

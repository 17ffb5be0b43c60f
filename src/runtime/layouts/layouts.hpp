// Files as they are opened and made: layouts, which on Lustre must be there before the first byte is, hints
// of MPI-IO that the program does not give itself, and objects of parallel HDF5 files.
#pragma once

#include "symbols/next.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
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

    /// A device is 32 bits in the kernel. Never 0, as a rule begins with its pattern.
    static uint64_t key(dev_t device, std::string_view words, std::string_view rules) noexcept {
        return uint64_t(device) << 32 | uint32_t(words.data() - rules.data());
    }

    std::atomic<uint64_t> kept_[most] = {};
    std::atomic<unsigned> next_{0};
};

struct State {
    bool lays_out = false;          ///< true from MPI_Init to MPI_Finalize
    std::atomic<unsigned> made{0};  ///< files under a name of ours
    RefusedLayouts refused;
    symbols::NextFunction unhinted;  ///< function that our MPI_File_open calls
};
inline constinit State state;

/// Makes the file that an open is about to create, with the layout of its rule; false where it was not made:
/// whatever fails leaves the open as it would have been.
bool make_laid_out(int directory, const char* path, mode_t mode) noexcept;

/// The same where `flags` of open(2) create. The flags to go on with: of a file that was made here, an open
/// that must make it itself finds it there.
inline int lay_out(int directory, const char* path, int flags, mode_t mode) noexcept {
    if (state.lays_out && flags & O_CREAT && make_laid_out(directory, path, mode)) [[unlikely]]
        return flags & ~O_EXCL;
    return flags;
}

/// Whether the environment asks for any of it; called before MPI is initialised and the options are read.
bool arranges_hdf5() noexcept;

}  // namespace mpiric::layouts

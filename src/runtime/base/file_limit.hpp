// The limit on the size of files (`ulimit -f`). Beyond it the kernel does not only refuse: it sends SIGXFSZ,
// which ends the program.
#pragma once

#include <cstdint>
#include <sys/resource.h>

namespace mpiric {

/// Whether the limit allows this process to write a file of `bytes` bytes.
inline bool may_be_as_long_as(uint64_t bytes) noexcept {
    rlimit limit{};
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur;
}

}  // namespace mpiric

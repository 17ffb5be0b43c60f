// Pages of a mapped file can be taken away while the program runs: when somebody cuts the file short, or
// deletes it on another host of a network file system. The next touch then ends the program by SIGBUS.
#pragma once

#include <cstddef>

namespace mpiric::profile {

/// From now on, lets such a touch find zeroed memory instead of any of these bytes. A signal handler calls
/// `lost` before the touching instruction goes on. Any other SIGBUS is as before. One range a process.
void guard_pages(const void* from, size_t bytes, void (*lost)() noexcept) noexcept;

}  // namespace mpiric::profile

// The run that this process belongs to, told apart from other runs without asking the other ranks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpiric::system {

/// A number that all ranks of one run have in common, on whatever hosts: made of the names that its launcher
/// gave the run, else of the parent process and the host.
uint64_t job() noexcept;

/// Takes the command line of hydra's proxy, words of /proc, into a hash: where the launcher listens, which
/// the proxies of all hosts were told, and the number of the world that they start. False when it is none.
bool take_proxy(const char* words, size_t length, uint64_t& hash) noexcept;

}  // namespace mpiric::system

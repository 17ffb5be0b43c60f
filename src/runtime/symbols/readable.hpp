// Reading what a pointer of unknown origin may point to.
#pragma once

#include <cstddef>

namespace mpiric::symbols {

/// Copies a short printable text from an arbitrary address. False when the address does not hold such a text.
bool read_text(const void* from, char* to, size_t room) noexcept;

/// Copies bytes from an address that this process may not be able to read; false then.
bool read_bytes(const void* from, void* to, size_t bytes) noexcept;

}  // namespace mpiric::symbols

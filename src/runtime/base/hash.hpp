// FNV-1a, 64 bits: short, and good enough for tables and for telling groups of ranks apart.
#pragma once

#include <cstdint>

namespace mpiric {

inline constexpr uint64_t hash_basis = 0xcbf29ce484222325;

/// One step: a byte, as FNV-1a has it, or a larger number at once.
constexpr uint64_t hash_with(uint64_t hash, uint64_t number) noexcept {
    return (hash ^ number) * 0x100000001b3;
}

constexpr uint64_t hash_text(uint64_t hash, const char* text) noexcept {
    for (; *text; ++text)
        hash = hash_with(hash, uint8_t(*text));
    return hash;
}

/// The four bytes of a number, the lowest first.
constexpr uint64_t hash_number(uint64_t hash, uint32_t number) noexcept {
    for (int byte = 0; byte < 4; ++byte, number >>= 8)
        hash = hash_with(hash, number & 0xff);
    return hash;
}

}  // namespace mpiric

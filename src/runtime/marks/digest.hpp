// Digest of a sequence of results: equal when all results are equal, to the bit.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mpiric::marks {

/// Takes one word in. For a given word it maps digests one to one, and for a given digest words: two rows
/// that differ in one word never have the same digest.
inline uint64_t take_word(uint64_t digest, uint64_t word) noexcept {
    digest = (std::rotl(digest, 23) ^ word) * 0x9E3779B97F4A7C15ull;
    return digest ^ digest >> 32;  // or the highest bit, the sign of a number, would reach one bit alone
}

/// Takes a result in: its length, then its bytes in words, the last one filled up with zeros.
inline uint64_t take_result(uint64_t digest, const void* result, size_t bytes) noexcept {
    const auto* from = static_cast<const char*>(result);
    digest = take_word(digest, bytes);
    uint64_t word = 0;
    for (; bytes >= sizeof word; bytes -= sizeof word, from += sizeof word) {
        std::memcpy(&word, from, sizeof word);
        digest = take_word(digest, word);
    }
    if (bytes > 0) {
        word = 0;
        std::memcpy(&word, from, bytes);
        digest = take_word(digest, word);
    }
    return digest;
}

/// Digest of one message, made of four digests of every fourth word, which is faster for long messages.
/// Digests of several messages are added, as their order may vary.
inline uint64_t take_message(const void* message, size_t bytes) noexcept {
    const auto* from = static_cast<const char*>(message);
    uint64_t digest = 0, lanes[4] = {0, 1, 2, 3}, words[4];
    constexpr size_t row_bytes = sizeof words;
    for (; bytes >= row_bytes; bytes -= row_bytes, from += row_bytes) {
        std::memcpy(words, from, row_bytes);
        for (int lane = 0; lane < 4; ++lane)
            lanes[lane] = take_word(lanes[lane], words[lane]);
    }
    for (const uint64_t lane : lanes)
        digest = take_word(digest, lane);
    return take_result(digest, from, bytes);
}

}  // namespace mpiric::marks

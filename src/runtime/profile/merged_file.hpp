// The file that holds the images of all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace mpiric::profile {

/// One rank's image on its way into the file.
struct RankImage {
    uint32_t rank;
    std::span<const std::byte> bytes;
};

/// CRC-32 (IEEE 802.3), as zlib computes it.
uint32_t crc32(std::span<const std::byte> bytes) noexcept;

/// Writes `record.mpiric` (or the first of `record-2.mpiric`, … that is free) under a temporary name and then
/// gives it its own. False when it could not be written whole: `reason` says why, and nothing is left behind.
bool write_merged(const char* directory, int first_number, uint32_t world_size,
                  std::span<const RankImage> images, std::string_view names, const char*& reason) noexcept;

}  // namespace mpiric::profile

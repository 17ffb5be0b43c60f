// The size classes of calls: each is learned by itself.
#pragma once

#include <bit>
#include <cstdint>

namespace mpiric::tune {

/// Class 0 is 0 bytes, class k is [2^(k-1), 2^k); the last has no end.
inline constexpr uint32_t class_count = 40;
constexpr uint32_t class_of(uint64_t bytes) noexcept {
    const auto width = uint32_t(std::bit_width(bytes));
    return width < class_count ? width : class_count - 1;
}
constexpr uint64_t class_begin(uint32_t size_class) noexcept {
    return size_class == 0 ? 0 : uint64_t(1) << (size_class - 1);
}
/// First size beyond the class.
constexpr uint64_t class_end(uint32_t size_class) noexcept {
    return size_class + 1 == class_count ? UINT64_MAX : uint64_t(1) << size_class;
}

}  // namespace mpiric::tune

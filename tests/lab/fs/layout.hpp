// Layouts in the binary forms of Lustre's attribute `lustre.lov`: plain (v1, v3 with a pool) and composite.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lab {

struct Extent {
    uint64_t end = UINT64_MAX;  // offset from the start of the file
    uint32_t stripe_bytes = 1 << 20;
    uint16_t count = 1;  // 0xffff: over all
    uint32_t pattern = 1;
    std::string pool = {};
    std::vector<uint32_t> targets = {};  // targets of a file's objects, empty before the first write
};

struct Layout {
    std::vector<Extent> extents;

    bool has_objects() const { return !extents.empty() && !extents.front().targets.empty(); }
    int objects() const;
};

/// 0, or the errno with which Lustre refuses the value.
int parse(const std::string& value, Layout& layout);
std::string pack(const Layout& layout);

}  // namespace lab

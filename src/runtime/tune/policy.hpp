// The flat policy of spec/formats/policy.md, read once and looked up by a pure function.
#pragma once

#include "base/collective.hpp"
#include "tune/shape.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mpiric::tune {

/// A range of numbers, both ends included.
struct Range {
    uint64_t least = 0, most = UINT64_MAX;
    bool has(uint64_t number) const noexcept { return least <= number && number <= most; }
};

struct Rule {
    Collective collective{};
    Range ranks, nodes, ranks_per_node;
    std::optional<Distribution> distribution;
    std::optional<uint64_t> placement;
    uint64_t from = 0, to = UINT64_MAX;  ///< sizes with from ≤ size < to; UINT64_MAX as `to`: no end
    std::string candidate;

    bool fits(Collective of, const Shape& shape) const noexcept;
};

struct Policy {
    std::string implementation;
    uint32_t major = 0;
    std::vector<Rule> rules;
};

/// A range of sizes and the rule that decides it.
struct Covered {
    uint64_t from, to;
    const Rule* rule;  ///< null: the policy does not cover it
};

/// Reads a whole file. Malformed lines set `bad_line`, counted from 1. Unknown collectives are skipped.
std::optional<Policy> read_policy(std::string_view text, uint32_t& bad_line);

/// Rules for the sizes [from, to) of a collective on a communicator of this shape: ranges in ascending order
/// without gaps. The first line that matches a size decides it.
std::vector<Covered> look_up(const Policy& policy, Collective collective, const Shape& shape, uint64_t from,
                             uint64_t to);

}  // namespace mpiric::tune

// The flat policy of spec/formats/policy.md: read once, looked up by a pure function.
#pragma once

#include "base/collective.hpp"
#include "tune/shape.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mpiric::tune {

/// A set of numbers: both ends belong to it.
struct Range {
    uint64_t least = 0, most = UINT64_MAX;
    bool has(uint64_t number) const noexcept { return least <= number && number <= most; }
};

struct Rule {
    Collective collective{};
    Range ranks, nodes, ranks_per_node;
    std::optional<Order> order;
    std::optional<uint64_t> place;
    uint64_t from = 0, to = UINT64_MAX;  ///< from ≤ size < to; the largest number as `to` has no end
    std::string candidate;

    bool fits(Collective of, const Shape& shape) const noexcept;
};

struct Policy {
    std::string implementation;
    uint32_t major = 0;
    std::vector<Rule> rules;
};

/// One stretch of sizes and what serves it.
struct Covered {
    uint64_t from, to;
    const Rule* rule;  ///< null: no line of the policy
};

/// Reads a whole file. On a line that is not right returns nothing and sets `bad_line`, counted from 1. Lines
/// about collectives that are not known here (other forms) are passed over.
std::optional<Policy> read_policy(std::string_view text, uint32_t& bad_line);

/// What the policy says about the sizes [from, to) of a collective on a communicator of this shape: stretches
/// in rising order without gaps. The first line that matches a size decides it.
std::vector<Covered> look_up(const Policy& policy, Collective collective, const Shape& shape, uint64_t from,
                             uint64_t to);

}  // namespace mpiric::tune

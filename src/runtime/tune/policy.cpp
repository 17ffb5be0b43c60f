// Reads a policy line by line, and finds the rules for a range of sizes.
#include "tune/policy.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace mpiric::tune {
namespace {

constexpr size_t longest_line = 512, most_lines = 65'536;

std::vector<std::string_view> fields_of(std::string_view line) {
    std::vector<std::string_view> fields;
    for (;;) {
        line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
        if (line.empty())
            return fields;
        const size_t end = std::min(line.find_first_of(" \t\r"), line.size());
        fields.push_back(line.substr(0, end));
        line.remove_prefix(end);
    }
}

/// Reads `5`, `5-12`, `5-*` or `*`.
bool read_range(std::string_view text, Range& range) {
    if (text == "*")
        return true;
    const size_t dash = text.find('-');
    if (!read_number(text.substr(0, dash), range.least))
        return false;
    if (dash == std::string_view::npos) {
        range.most = range.least;
        return true;
    }
    const std::string_view most = text.substr(dash + 1);
    return most == "*" || (read_number(most, range.most) && range.least <= range.most);
}

bool read_distribution(std::string_view text, std::optional<Distribution>& distribution) {
    for (const Distribution known : {Distribution::block, Distribution::cyclic, Distribution::mixed})
        if (text == name_of(known))
            distribution = known;
    return distribution || text == "*";
}

bool read_placement(std::string_view text, std::optional<uint64_t>& placement) {
    uint64_t number = 0;
    if (text == "*")
        return true;
    if (text.size() != 16 || !read_number(text, number, 16))
        return false;
    placement = number;
    return true;
}

bool is_word(std::string_view text, bool number_too) {
    const auto letter = [](char sign) { return sign >= 'a' && sign <= 'z'; };
    const auto digit = [](char sign) { return sign >= '0' && sign <= '9'; };
    if (text.empty() || !(letter(text[0]) || (number_too && digit(text[0]))))
        return false;
    return std::all_of(text.begin(), text.end(),
                       [&](char sign) { return letter(sign) || digit(sign) || sign == '_'; });
}

bool is_candidate(std::string_view name) {
    const size_t colon = name.find(':');
    if (colon == std::string_view::npos)
        return name == "library";
    const std::string_view family = name.substr(0, colon);
    return (family == "library" || family == "own") && is_word(name.substr(colon + 1), false);
}

bool is_parameter(std::string_view text) {
    const size_t equals = text.find('=');
    return equals != std::string_view::npos && is_word(text.substr(0, equals), false) &&
           is_word(text.substr(equals + 1), true);
}

/// Reads a line that chooses; false when it is malformed. `known`: set to whether the collective is.
bool read_choice(const std::vector<std::string_view>& fields, Rule& rule, bool& known) {
    if (fields.size() < 10 || !is_word(fields[1], false))
        return false;
    rule.collective = collective_of(fields[1]);
    known = rule.collective != Collective::count;
    if (!read_range(fields[2], rule.ranks) || !read_range(fields[3], rule.nodes) ||
        !read_range(fields[4], rule.ranks_per_node) || !read_distribution(fields[5], rule.distribution) ||
        !read_placement(fields[6], rule.placement) || !read_number(fields[7], rule.from) ||
        !(fields[8] == "*" || read_number(fields[8], rule.to)) || rule.from >= rule.to ||
        !is_candidate(fields[9]))
        return false;
    rule.candidate = fields[9];
    for (size_t at = 10; at < fields.size(); ++at) {
        if (!is_parameter(fields[at]) || fields[9].find(':') == std::string_view::npos)
            return false;
        rule.candidate += " " + std::string(fields[at]);
    }
    return true;
}

bool read_line(const std::vector<std::string_view>& fields, uint32_t number, Policy& policy) {
    if (number == 1)
        return fields.size() == 2 && fields[0] == "mpiric-policy" && fields[1] == "1";
    if (number == 2) {
        if (fields.size() != 3 || fields[0] != "mpi")
            return false;
        policy.implementation = fields[1];
        uint64_t major = 0;
        const bool read = read_number(fields[2].substr(0, fields[2].find('.')), major);
        policy.major = uint32_t(major);
        return read;
    }
    if (fields.empty())
        return true;
    Rule rule;
    bool known = true;
    if (fields[0] != "choose" || !read_choice(fields, rule, known))
        return false;
    if (known)
        policy.rules.push_back(std::move(rule));
    return true;
}

}  // namespace

bool Rule::fits(Collective of, const Shape& shape) const noexcept {
    return collective == of && ranks.has(shape.ranks) && nodes.has(shape.nodes) &&
           ranks_per_node.has(shape.ranks_per_node) &&
           (!distribution || *distribution == shape.distribution) &&
           (!placement || *placement == shape.placement);
}

std::optional<Policy> read_policy(std::string_view text, uint32_t& bad_line) {
    Policy policy;
    uint32_t number = 0;
    bad_line = 1;
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        bad_line = ++number;
        if (line.size() > longest_line || number > most_lines)
            return std::nullopt;
        if (number > 2 && line.starts_with('#'))
            continue;
        if (!read_line(fields_of(line), number, policy))
            return std::nullopt;
    }
    if (number < 2)
        return std::nullopt;
    return policy;
}

std::vector<Covered> look_up(const Policy& policy, Collective collective, const Shape& shape, uint64_t from,
                             uint64_t to) {
    std::vector<const Rule*> rules;
    std::vector<uint64_t> cuts{from, to};
    for (const Rule& rule : policy.rules) {
        if (!rule.fits(collective, shape) || rule.to <= from || rule.from >= to)
            continue;
        rules.push_back(&rule);
        cuts.push_back(std::max(rule.from, from));
        cuts.push_back(std::min(rule.to, to));
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::vector<Covered> covered;
    for (size_t at = 0; at + 1 < cuts.size(); ++at) {
        const auto first = std::find_if(rules.begin(), rules.end(), [&](const Rule* rule) {
            return rule->from <= cuts[at] && cuts[at] < rule->to;
        });
        const Rule* rule = first == rules.end() ? nullptr : *first;
        if (!covered.empty() && covered.back().rule == rule)
            covered.back().to = cuts[at + 1];
        else
            covered.push_back({cuts[at], cuts[at + 1], rule});
    }
    return covered;
}

}  // namespace mpiric::tune

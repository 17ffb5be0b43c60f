// Renders what explorations have learned as JSON, a key for each range of sizes.
#include "select/decision/learned_keys.hpp"

#include <algorithm>
#include <vector>

namespace mpiric::select {
namespace {

/// The `quarters`-th quartile, to the nearest of the times.
double quartile(std::vector<float> times, size_t quarters) {
    const auto at = times.begin() + std::ptrdiff_t((quarters * (times.size() - 1) + 2) / 4);
    std::nth_element(times.begin(), at, times.end());
    return double(*at);
}

std::string candidate_text(const std::string& name, const tune::Timings& timings) {
    return formatted(
        "\n    {\"name\": \"%s\", \"calls\": %zu, \"median_s\": %.9g, \"low_s\": %.9g, \"high_s\": "
        "%.9g, \"eliminated\": %s}",
        name.c_str(), timings.times.size(), quartile(timings.times, 2), quartile(timings.times, 1),
        quartile(timings.times, 3), timings.eliminated ? "true" : "false");
}

std::string shape_text(const tune::Shape& shape) {
    return formatted("{\"ranks\": %u, \"nodes\": %u, \"ranks_per_node\": %u, \"order\": \"%s\", "
                     "\"placement\": \"%016llx\"}",
                     shape.ranks, shape.nodes, shape.ranks_per_node,
                     std::string(tune::name_of(shape.distribution)).c_str(),
                     static_cast<unsigned long long>(shape.placement));
}

std::string size_text(uint64_t to) { return to == UINT64_MAX ? "null" : std::to_string(to); }

std::string candidates_text(const Exploration& exploration, const tune::Catalogue& catalogue) {
    const tune::Race& race = exploration.learner->race();
    std::string text;
    for (uint32_t at = 0; at < race.size(); ++at)
        if (!race.timings(at).times.empty())
            text += (text.empty() ? "" : ",") +
                    candidate_text(catalogue[exploration.candidates[at]].name, race.timings(at));
    return text;
}

/// One key: a range of an exploration, learned or proved again by `evidence`.
std::string key_text(const std::string& head, uint64_t calls, const SizeRange& range,
                     const Exploration& evidence, const tune::Catalogue& catalogue) {
    const tune::Learner& learner = *evidence.learner;
    const tune::Race& race = learner.race();
    const uint32_t chosen = range.choice >= 0 ? uint32_t(range.choice) : evidence.candidates.front();
    std::string text = head;
    text += formatted(",\n   \"from\": %llu, \"to\": ", static_cast<unsigned long long>(range.from));
    text += size_text(range.to) + ", \"candidate\": \"" + catalogue[chosen].name + "\"";
    text += formatted(", \"decided\": %s, \"confidence\": %.6f", race.decided() ? "true" : "false",
                      race.confidence());
    text +=
        formatted(",\n   \"calls\": %llu, \"learning_calls\": %llu, \"learning_s\": %.9g, \"candidates\": [",
                  static_cast<unsigned long long>(calls),
                  static_cast<unsigned long long>(learner.learning_calls()), learner.learning_seconds());
    return text + candidates_text(evidence, catalogue) + "]}";
}

/// The ranges that were learned or proved again; neighbours with the same choice are joined.
std::vector<SizeRange> learned_ranges(const Exploration& exploration) {
    std::vector<SizeRange> joined;
    for (const SizeRange& range : exploration.ranges) {
        if (!(range.learned ? exploration.learner != nullptr : range.proved))
            continue;
        if (!joined.empty() && joined.back().to == range.from && joined.back().choice == range.choice &&
            joined.back().learned == range.learned)
            joined.back().to = range.to;
        else
            joined.push_back(range);
    }
    return joined;
}

}  // namespace

template <class Table>
std::string learned_keys(const tune::Shape& shape, const Table& learned, const tune::Catalogue& catalogue) {
    std::string text;
    for (const auto& [key, exploration] : learned.explorations) {
        const auto collective = Collective(key / tune::class_count);
        const std::string head = formatted("\n  {\"collective\": \"%s\", \"communicator\": ",
                                           std::string(name_of(collective)).c_str()) +
                                 shape_text(shape);
        const uint64_t calls = Table::has(collective)
                                   ? learned.entry(collective, key % tune::class_count).calls
                                   : exploration.calls;
        for (const SizeRange& range : learned_ranges(exploration))
            text += (text.empty() ? "" : ",") +
                    key_text(head, calls, range, range.learned ? exploration : *exploration.policy_proof,
                             catalogue);
    }
    return text;
}

template std::string learned_keys(const tune::Shape&, const BlockingTable&, const tune::Catalogue&);
template std::string learned_keys(const tune::Shape&, const StartedTable&, const tune::Catalogue&);

}  // namespace mpiric::select

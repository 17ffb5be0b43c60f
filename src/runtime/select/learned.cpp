// What was learnt, as the learned policy has it (spec/formats/policy.md).
#include "select/tuning.hpp"
#include "system/text.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace mpiric::select {
namespace {

std::string formatted(const char* form, auto... values) {
    char text[512];
    std::snprintf(text, sizeof text, form, values...);
    return text;
}

/// To the nearest of them; `quarters` of 4.
double quartile(std::vector<float> times, size_t quarters) {
    const auto at = times.begin() + std::ptrdiff_t((quarters * (times.size() - 1) + 2) / 4);
    std::nth_element(times.begin(), at, times.end());
    return double(*at);
}

std::string one_candidate(const std::string& name, const tune::Timings& timings) {
    return formatted(
        "\n    {\"name\": \"%s\", \"calls\": %zu, \"median_s\": %.9g, \"low_s\": %.9g, \"high_s\": "
        "%.9g, \"eliminated\": %s}",
        name.c_str(), timings.times.size(), quartile(timings.times, 2), quartile(timings.times, 1),
        quartile(timings.times, 3), timings.eliminated ? "true" : "false");
}

std::string shape_text(const tune::Shape& shape) {
    return formatted(
        "{\"ranks\": %u, \"nodes\": %u, \"ranks_per_node\": %u, \"order\": \"%s\", \"place\": \"%016llx\"}",
        shape.ranks, shape.nodes, shape.ranks_per_node, std::string(tune::name_of(shape.order)).c_str(),
        static_cast<unsigned long long>(shape.placement));
}

std::string size_text(uint64_t to) { return to == UINT64_MAX ? "null" : std::to_string(to); }

std::string one_key(const Knowledge& known, uint32_t key, const Stretch& stretch, const Lesson& lesson,
                    const tune::Catalogue& catalogue) {
    const auto collective = Collective(key / tune::class_count);
    const tune::Learner& learner = *lesson.learner;
    const tune::Race& race = learner.race();
    const uint64_t calls = form_of(collective) == Form::blocking
                               ? known.entries[uint32_t(collective)][key % tune::class_count].calls
                               : lesson.calls;
    std::string text = formatted("\n  {\"collective\": \"%s\", \"communicator\": ",
                                 std::string(name_of(collective)).c_str());
    text += shape_text(known.shape);
    text += formatted(",\n   \"from\": %llu, \"to\": ", static_cast<unsigned long long>(stretch.from));
    text += size_text(stretch.to);
    const uint32_t chosen = stretch.choice >= 0 ? uint32_t(stretch.choice) : lesson.candidates.front();
    text += ", \"candidate\": \"" + catalogue[chosen].name + "\"";
    text += formatted(", \"settled\": %s, \"confidence\": %.6f", race.decided() ? "true" : "false",
                      race.confidence());
    text +=
        formatted(",\n   \"calls\": %llu, \"learning_calls\": %llu, \"learning_s\": %.9g, \"candidates\": [",
                  static_cast<unsigned long long>(calls),
                  static_cast<unsigned long long>(learner.learning_calls()), learner.learning_seconds());
    bool first = true;
    for (uint32_t at = 0; at < race.size(); ++at) {
        if (race.timings(at).times.empty())
            continue;
        text += (first ? "" : ",") + one_candidate(catalogue[lesson.candidates[at]].name, race.timings(at));
        first = false;
    }
    return text + "]}";
}

/// What was learnt or proved again, neighbours with the same choice as one.
std::vector<Stretch> learnt(const Lesson& lesson) {
    std::vector<Stretch> joined;
    for (const Stretch& stretch : lesson.stretches) {
        if (!(stretch.learnt ? lesson.learner != nullptr : stretch.proved))
            continue;
        if (!joined.empty() && joined.back().to == stretch.from && joined.back().choice == stretch.choice &&
            joined.back().learnt == stretch.learnt)
            joined.back().to = stretch.to;
        else
            joined.push_back(stretch);
    }
    return joined;
}

}  // namespace

std::string where_and_when() {
    char facts[4096], cpu[128], date[32] = "";
    system::read_file("/proc/cpuinfo", facts, sizeof facts);
    system::text_after(facts, "model name", cpu, sizeof cpu);
    const auto is_plain = [](char one) { return one >= ' ' && one <= '~' && one != '"' && one != '\\'; };
    std::replace_if(cpu, cpu + std::strlen(cpu), [&](char one) { return !is_plain(one); }, '?');
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    if (gmtime_r(&now, &utc))
        std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    std::string text = formatted(" \"written\": \"%s\",\n", date);
    if (*cpu)
        text += formatted(" \"machine\": {\"cpu\": \"%s\"},\n", cpu);
    return text;
}

std::string learned_keys(const std::vector<std::shared_ptr<Knowledge>>& all,
                         const tune::Catalogue& catalogue) {
    std::string text;
    for (const auto& known : all)
        for (const auto& [key, lesson] : known->lessons)
            for (const Stretch& stretch : learnt(lesson))
                text += (text.empty() ? "" : ",") +
                        one_key(*known, key, stretch, stretch.learnt ? lesson : *lesson.proof, catalogue);
    return text;
}

}  // namespace mpiric::select

#include "select/decision/basis.hpp"

#include "base/say.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace mpiric::select {
namespace {

/// A bit for each collective that is named; all bits where none is.
uint64_t collective_bits(std::string_view names) {
    if (names.empty())
        return UINT64_MAX;
    uint64_t bits = 0;
    while (!names.empty()) {
        const size_t end = std::min(names.find_first_of(", "), names.size());
        const std::string_view name = names.substr(0, end);
        if (const Collective named = collective_of(name); named != Collective::count)
            bits |= uint64_t(1) << uint32_t(named);
        else if (!name.empty())
            say_once("MPIRIC_LEARN_ONLY names no collective", std::string(name).c_str());
        names.remove_prefix(std::min(end + 1, names.size()));
    }
    return bits;
}

}  // namespace

Rules rules_of(const Options& options, bool writes_policy) {
    return {.mode = options.collectives,
            .learn_at_most = options.learn_at_most,
            .reprove = options.reprove,
            .reproducible = options.reproducible,
            .writes_policy = writes_policy,
            .learn_ranks = options.learn_ranks,
            .learn_only = collective_bits(options.learn_only),
            .scratch_bytes = uint64_t(options.scratch_mib) << 20};
}

}  // namespace mpiric::select

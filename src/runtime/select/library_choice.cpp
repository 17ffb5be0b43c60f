#include "select/library_choice.hpp"

#include "base/say.hpp"
#include "tune/candidate.hpp"
#include "world/control.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace mpiric::select {
namespace {

/// Before this version MPI_T_init_thread of Open MPI opens every component there is: 0.2 s, and code that the
/// program has no use for.
constexpr uint32_t cheap_to_ask_from = 5;

/// Components of a framework that are open. Open MPI closes what it does not choose, and a component's
/// variables go with it: that of its version is left only of those that serve.
std::string components(std::string_view framework) {
    constexpr std::string_view mark = "_release_version";
    std::set<std::string> open;
    for (const auto& [name, index] : world::variables()) {
        const std::string_view whole = name;
        if (whole.starts_with(framework) && whole.ends_with(mark))
            open.emplace(whole.substr(framework.size(), whole.size() - framework.size() - mark.size()));
    }
    if (open.contains("sm"))
        open.erase("vader");  // the same by its old name
    std::string names;
    for (const std::string& one : open)
        names += (names.empty() ? "" : " ") + one;
    return names;
}

/// What carries messages; empty where the library does not say.
std::string transport() {
    const std::string layer = components("pml_");
    const std::string below = layer == "ob1"  ? components("btl_")
                              : layer == "cm" ? components("mtl_")
                                              : std::string();
    return below.empty() ? layer : layer + " over " + below;
}

/// Whether the variables of an algorithm are as it needs them, but for which component comes first: that
/// depends on the communicator.
bool is_selected(const tune::Candidate& candidate) {
    return std::all_of(candidate.writes.begin(), candidate.writes.end(), [](const tune::Write& write) {
        return write.orders_components() || world::Setting().is_in_force(write.variable, write.value);
    });
}

}  // namespace

void tell_selected(system::Tell tell) noexcept try {
    const tune::Library asked = tune::library_of(world::version_text());
    if (asked.implementation == "openmpi" && asked.major() < cheap_to_ask_from)
        return;
    if (const std::string text = transport(); !text.empty())
        tell("library.transport", text.c_str());
    const tune::Catalogue catalogue(asked);
    constexpr std::string_view own_of_library = "library:";
    for (uint32_t at = 0; at < catalogue.size(); ++at) {
        const tune::Candidate& one = catalogue[at];
        // Persistent forms obey the variables of the nonblocking ones.
        if (one.kind == tune::Kind::switched && one.parent < 0 &&
            form_of(one.collective) != Form::persistent && is_selected(one))
            tell(("library." + std::string(name_of(one.collective))).c_str(),
                 one.name.c_str() + own_of_library.size());
    }
} catch (...) {
    say_once("what the library says that it uses is not recorded", "memory is short");
}

}  // namespace mpiric::select

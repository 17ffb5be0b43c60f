// The transports and collective algorithms that the library reports through MPI_T.
#include "record/library_choice.hpp"

#include "base/say.hpp"
#include "tune/candidate.hpp"
#include "world/control.hpp"
#include "world/library.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace mpiric::record {
namespace {

/// Before this version MPI_T_init_thread of Open MPI opens every component there is: 0.2 s, and code that the
/// program has no use for.
constexpr uint32_t first_cheap_openmpi = 5;

/// Names the open components of a framework. Open MPI closes components that it does not choose, and their
/// variables disappear with them: only components in use still have a version variable.
std::string components(std::string_view framework) {
    constexpr std::string_view mark = "_release_version";
    std::set<std::string> open;
    for (const auto& [name, index] : world::variables()) {
        const std::string_view whole = name;
        if (whole.starts_with(framework) && whole.ends_with(mark))
            open.emplace(whole.substr(framework.size(), whole.size() - framework.size() - mark.size()));
    }
    if (open.contains("sm"))
        open.erase("vader");  // the old name of sm
    std::string names;
    for (const std::string& name : open)
        names += (names.empty() ? "" : " ") + name;
    return names;
}

/// The transport of messages; empty where the library does not report it.
std::string transport() {
    const std::string layer = components("pml_");
    const std::string below = layer == "ob1"  ? components("btl_")
                              : layer == "cm" ? components("mtl_")
                                              : std::string();
    return below.empty() ? layer : layer + " over " + below;
}

/// Whether the variables of an algorithm have the values it needs, but for the order of components, which
/// depends on the communicator.
bool is_selected(const tune::Candidate& candidate) {
    return std::all_of(candidate.writes.begin(), candidate.writes.end(), [](const tune::Write& write) {
        return write.orders_components() || world::Setting().is_in_force(write.variable, write.value);
    });
}

}  // namespace

void report_library_choice(system::AddFact add_fact) noexcept try {
    const tune::Library identity = tune::library_of(world::version_text());
    if (identity.implementation == "openmpi" && identity.major() < first_cheap_openmpi)
        return;
    if (const std::string text = transport(); !text.empty())
        add_fact("library.transport", text.c_str());
    const tune::Catalogue catalogue(identity);
    constexpr std::string_view prefix = "library:";
    for (uint32_t at = 0; at < catalogue.size(); ++at) {
        const tune::Candidate& candidate = catalogue[at];
        // Persistent forms obey the variables of the nonblocking ones.
        if (candidate.kind == tune::Kind::switched && candidate.parent < 0 &&
            form_of(candidate.collective) != Form::persistent && is_selected(candidate))
            add_fact(("library." + std::string(name_of(candidate.collective))).c_str(),
                     candidate.name.c_str() + prefix.size());
    }
} catch (...) {
    say_once("the transport and algorithms of the library are not recorded", "memory is short");
}

}  // namespace mpiric::record

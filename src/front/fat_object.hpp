// Adding variants to an object file, byte for byte as src/mpiric/build/edit.py and payload.py do.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace mpiric::front {

struct Section {
    std::string name, contents;
};

// One variant in its section: a header, how it was made, and its object ("" for the baseline, which is the
// file itself).
std::string payload(const std::string& description, const std::string& object);

// Whether `with_sections` can extend `object`: relocatable, without IFUNCs, with a usual number of sections.
bool can_carry(const std::string& object);

// The object with sections that linkers leave out of a program.
std::string with_sections(const std::string& object, const std::vector<Section>& added);

}  // namespace mpiric::front

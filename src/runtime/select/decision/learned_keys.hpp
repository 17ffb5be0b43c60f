// Keys of the learned policy (spec/formats/policy.md): results for the communicators of a group.
#pragma once

#include "select/decision/decision.hpp"
#include "tune/candidate.hpp"
#include "tune/shape.hpp"

#include <cstdio>
#include <string>

namespace mpiric::select {

/// Text by a format of printf, at most 511 bytes.
std::string formatted(const char* form, auto... values) {
    char text[512];
    std::snprintf(text, sizeof text, form, values...);
    return text;
}

/// JSON objects with a comma between two; empty where nothing was learned. A BlockingTable has the
/// explorations of the other forms in it, too, once their communicators are gone.
template <class Table>
std::string learned_keys(const tune::Shape& shape, const Table& learned, const tune::Catalogue& catalogue);

}  // namespace mpiric::select

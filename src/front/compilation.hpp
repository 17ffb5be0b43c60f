// A plan carried out for one file.
#pragma once

#include "plan.hpp"

#include <optional>

namespace mpiric::front {

// The exit status; nothing where the file is one that only Python knows how to compile, or to report about.
std::optional<int> carry_out(const Plan& plan, const Request& request);

}  // namespace mpiric::front

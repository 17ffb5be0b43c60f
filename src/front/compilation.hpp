// A plan carried out for one file.
#pragma once

#include "plan.hpp"

#include <optional>

namespace mpiric::front {

// The exit status; nothing if only Python can compile the file or report its errors.
std::optional<int> carry_out(const Plan& plan, const Request& request);

}  // namespace mpiric::front

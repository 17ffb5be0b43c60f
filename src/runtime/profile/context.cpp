#include "profile/context.hpp"

namespace mpiric {

constinit Runtime runtime;

}  // namespace mpiric

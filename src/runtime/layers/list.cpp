#include "symbols/layer.hpp"

namespace mpiric {

#define MPIRIC_LAYER(name) extern const Layer layer_##name;
#include <layers/order.inc>
#undef MPIRIC_LAYER

const Layer* const all[] = {
#define MPIRIC_LAYER(name) &layer_##name,
#include <layers/order.inc>
#undef MPIRIC_LAYER
};

std::span<const Layer* const> layers() noexcept { return all; }

}  // namespace mpiric

// The list of layers that the switchboard asks, from layers/order.inc.
#include "symbols/layer.hpp"

#define MPIRIC_LAYER(folder, name)                                                                           \
    namespace mpiric::folder {                                                                               \
    extern const Layer layer_##name;                                                                         \
    }
#include <layers/order.inc>
#undef MPIRIC_LAYER

namespace mpiric {

const Layer* const all[] = {
#define MPIRIC_LAYER(folder, name) &folder::layer_##name,
#include <layers/order.inc>
#undef MPIRIC_LAYER
};

std::span<const Layer* const> layers() noexcept { return all; }

}  // namespace mpiric

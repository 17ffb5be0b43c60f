// The layer of rank orders.
#include "symbols/layer.hpp"
#include "order/reordered_world.hpp"
#include "order/substitution.hpp"

namespace mpiric {

extern constinit const Layer layer_rank_order;
constinit const Layer layer_rank_order{
    .name = "rank order",
    .enabled = [](const Options& options) noexcept { return *options.rank_order || *options.honour_reorder; },
    .interest =
        [](symbols::Function function) noexcept {
            const symbols::NextFunction ours = order::before_library(function);
            return ours.next || ours.library ? Interest::replace : Interest::none;
        },
    .replace = order::stand_before,
    .on_library = order::stand_before_own_calls,
    .on_init = order::reorder_world,
};

}  // namespace mpiric

// The layer of rank orders.
#include "symbols/layer.hpp"
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
    .replace = order::insert_before,
    .on_library = order::insert_before_own_calls,
    .on_init = order::reorder_world,
};

}  // namespace mpiric

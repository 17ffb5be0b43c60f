// The layer that spreads files over subdirectories.
#include "profile/context.hpp"
#include "spread/spread.hpp"
#include "symbols/switchboard.hpp"

namespace mpiric {

extern constinit const Layer layer_spread_files;
constinit const Layer layer_spread_files{
    .name = "spread files",
    .enabled = spread::wanted,
    .on_init =
        [](ProgramWorld&) noexcept {
            spread::begin(runtime.options);
            symbols::interest_changed();
        },
};

}  // namespace mpiric

// The layer that broadcasts inputs.
#include "symbols/layer.hpp"
#include "inputs/inputs.hpp"
#include "profile/context.hpp"

namespace mpiric {

extern constinit const Layer layer_inputs;
constinit const Layer layer_inputs{
    .name = "inputs",
    .enabled = inputs::wanted,
    .on_init =
        [](ProgramWorld& world) noexcept {
            if (!world.of_sessions && !world.spawned)
                inputs::begin(runtime.options);
        },
    .on_finalize =
        [](const ProgramWorld& world) noexcept {
            int rank = -1;
            if (world.of_sessions && world::library.Group_rank(world.group, &rank) == MPI_SUCCESS &&
                rank == 0)
                inputs::say_why_not_begun(runtime.options);
        },
};

}  // namespace mpiric

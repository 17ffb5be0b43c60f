// A made-up layer: counts the program's calls of MPI_Barrier and prints them at the end.
#include "base/thread.hpp"
#include "symbols/layer.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace mpiric::example {
namespace {

struct State {
    std::atomic<int> barriers{0};
};
constinit State state;

}  // namespace

extern constinit const Layer layer_barrier_counter;
constinit const Layer layer_barrier_counter{
    .name = "barrier counter",
    .enabled = [](const Options&) noexcept { return std::getenv("COUNT_BARRIERS") != nullptr; },
    .interest =
        [](symbols::Function function) noexcept {
            return function == symbols::Function::MPI_Barrier ? Interest::before : Interest::none;
        },
    .before =
        [](symbols::Function) noexcept {
            if (thread.is_outside())
                ++state.barriers;
        },
    .on_finalize =
        [](const ProgramWorld& world) noexcept {
            int rank = 0;
            world::library.Group_rank(world.group, &rank);
            std::printf("rank %d: %d barriers\n", rank, state.barriers.load());
        },
};

}  // namespace mpiric::example

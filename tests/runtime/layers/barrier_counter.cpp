// A made-up layer: counts the program's calls of MPI_Barrier and prints them at the end. A call of
// MPI_Get_version that it sees after the end is printed too.
#include "base/thread.hpp"
#include "symbols/layer.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace mpiric::example {
namespace {

struct State {
    std::atomic<int> barriers{0};
    bool ended = false;
};
constinit State state;

}  // namespace

extern constinit const Layer layer_barrier_counter;
constinit const Layer layer_barrier_counter{
    .name = "barrier counter",
    .enabled = [](const Options&) noexcept { return std::getenv("COUNT_BARRIERS") != nullptr; },
    .interest =
        [](symbols::Function function) noexcept {
            using enum symbols::Function;
            return function == MPI_Barrier || function == MPI_Get_version ? Interest::before : Interest::none;
        },
    .before =
        [](symbols::Function function) noexcept {
            if (state.ended)
                std::puts("a call after the end");
            else if (thread.is_outside() && function == symbols::Function::MPI_Barrier)
                ++state.barriers;
        },
    .on_finalize =
        [](const ProgramWorld& world) noexcept {
            int rank = 0;
            world::library.Group_rank(world.group, &rank);
            std::printf("rank %d: %d barriers\n", rank, state.barriers.load());
            state.ended = true;
        },
};

}  // namespace mpiric::example

// The layer that tunes collectives.
#include "symbols/layer.hpp"
#include "select/tuner.hpp"

namespace mpiric {
namespace {

/// Functions that start, complete and free requests, some of which may be timed.
bool handles_requests(symbols::Function function) noexcept {
    using enum symbols::Function;
    switch (function) {
    case MPI_Start:
    case MPI_Startall:
    case MPI_Wait:
    case MPI_Waitall:
    case MPI_Waitany:
    case MPI_Waitsome:
    case MPI_Test:
    case MPI_Testall:
    case MPI_Testany:
    case MPI_Testsome:
    case MPI_Request_free:
        return true;
    default:
        return false;
    }
}

}  // namespace

extern constinit const Layer layer_collective_tuner;
constinit const Layer layer_collective_tuner{
    .name = "collective tuner",
    .enabled = [](const Options& options) noexcept { return options.collectives != Collectives::off; },
    .interest =
        [](symbols::Function function) noexcept {
            if (select::tuned(function).next)
                return Interest::replace;
            return select::tuner().watches_completions && handles_requests(function) ? Interest::watch
                                                                                     : Interest::none;
        },
    .replace = select::insert_tuned,
    .on_init = select::begin_tuning,
    .on_finalize = select::end_tuning,
};

}  // namespace mpiric

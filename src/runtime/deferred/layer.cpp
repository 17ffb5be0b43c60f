// The layer that holds output back.
#include "deferred/deferred.hpp"
#include "profile/context.hpp"
#include "symbols/switchboard.hpp"

namespace mpiric {
namespace {

void before_mpi(symbols::Function function) noexcept {
    using enum symbols::Function;
    deferred::before_mpi(function == MPI_Finalize || function == MPI_Session_finalize ||
                         function == MPI_Abort);
}

}  // namespace

extern constinit const Layer layer_deferred_output;
constinit const Layer layer_deferred_output{
    .name = "deferred output",
    .enabled = deferred::wanted,
    .interest =
        [](symbols::Function function) noexcept {
            return symbols::family_of(function) == symbols::Family::local ? Interest::none : Interest::before;
        },
    .before = before_mpi,
    .posix_interest =
        [](Posix name) noexcept {
            return deferred::passes(uint32_t(name)) ? Interest::before : Interest::none;
        },
    .before_posix = [](Posix name) noexcept { deferred::before_call(uint32_t(name)); },
    .on_init =
        [](ProgramWorld&) noexcept {
            deferred::begin(runtime.options);
            symbols::interest_changed();
        },
};

}  // namespace mpiric

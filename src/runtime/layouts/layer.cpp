// The layers of files as they are opened and made: hints of MPI-IO, layouts of Lustre, objects of HDF5.
#include "layouts/layouts.hpp"
#include "symbols/switchboard.hpp"

namespace mpiric {

extern constinit const Layer layer_file_hints;
constinit const Layer layer_file_hints{
    .name = "file hints",
    .enabled = [](const Options& options) noexcept { return *options.file_hints != '\0'; },
    .interest =
        [](symbols::Function function) noexcept {
            return function == symbols::Function::MPI_File_open ? Interest::replace : Interest::none;
        },
    .replace = layouts::insert_hints,
};

extern constinit const Layer layer_file_layouts;
constinit const Layer layer_file_layouts{
    .name = "file layouts",
    .enabled = [](const Options& options) noexcept { return *options.file_layouts != '\0'; },
    .posix_interest =
        [](Posix) noexcept { return layouts::state.lays_out ? Interest::watch : Interest::none; },
    .on_init =
        [](ProgramWorld&) noexcept {
            layouts::state.lays_out = true;
            symbols::interest_changed();
        },
    .on_finalize = [](const ProgramWorld&) noexcept { layouts::state.lays_out = false; },
};

// At work whenever its name is called, with MPI or before.
extern constinit const Layer layer_hdf5;
constinit const Layer layer_hdf5{
    .name = "HDF5",
    .enabled = [](const Options&) noexcept { return false; },
    .exported = "H5Fcreate",
    .shows = layouts::arranges_hdf5,
};

}  // namespace mpiric

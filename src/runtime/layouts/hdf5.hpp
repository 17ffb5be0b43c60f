// Parallel HDF5: how a file that is made arranges its objects, and who writes its metadata. H5Fcreate is
// exported, and goes on to the library's with a copy of the access properties. Steps:
//   1. Properties stay if the file is not accessed through MPI, or if the program has set them itself.
//   2. Objects of at least the alignment begin at multiples of it, so that ranks meet in fewer stripes.
//   3. Metadata are written collectively. Reads stay as they are: collective ones have corrupted files.
#pragma once

namespace mpiric::layouts {

/// Whether the environment asks for any of it; called before MPI is initialised and the options are read.
bool arranges_hdf5() noexcept;

}  // namespace mpiric::layouts

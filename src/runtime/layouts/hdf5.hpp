// Parallel HDF5: how a file that is made arranges its objects, and who writes its metadata. H5Fcreate is
// exported, and goes on to the library's with a copy of the access properties. Steps:
//   1. Properties of files that are not accessed through MPI, and what the program has set itself, stay.
//   2. Objects of at least the alignment begin at multiples of it, so that ranks meet in fewer stripes.
//   3. Metadata are written collectively. Reads stay as they are: collective ones have corrupted files.
#pragma once

namespace mpiric::layouts {

/// Whether the environment asks for any of it: before MPI is there, and the options are read.
bool arranges_hdf5() noexcept;

}  // namespace mpiric::layouts

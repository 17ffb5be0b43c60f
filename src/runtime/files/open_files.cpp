#include "files/open_files.hpp"

#include "base/handle_map.hpp"
#include "world/datatypes.hpp"

namespace mpiric::files {
namespace {

constinit HandleMap<profile::File*, 256> files;
constexpr uint32_t through_mpi = 1;

}  // namespace

profile::File* add_file(MPI_File file, const char* path, uint32_t processes) noexcept {
    const Held held(runtime.recorder.lock(), runtime.recorder.many_threads());
    profile::File* row = runtime.recorder.file(path, through_mpi, processes);
    if (row)
        files.put(world::number(file), row);
    return row;
}

profile::File* file_row(MPI_File file) noexcept {
    profile::File* row = nullptr;
    files.get(world::number(file), row);
    return row;
}

void forget_file(MPI_File file) noexcept { files.erase(world::number(file)); }

}  // namespace mpiric::files

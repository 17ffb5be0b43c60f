// MPI_File_open: the only moment at which a library takes hints for all of a file's life.
#include "files/hints.hpp"
#include "wrap/intercept.hpp"

namespace mpiric::wrap {

extern "C" int w_MPI_File_open(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh) {
    return intercept<Function::MPI_File_open, Policy::rare, decltype(&w_MPI_File_open)>(
        [&](auto* next) {
            const files::HintedInfo hinted(filename, info);
            return next(comm, filename, amode, hinted.info(), fh);
        },
        [&](auto& call) {
            call.on(comm);
            call.opened(*fh, filename, comm, amode);
            files::note_hints(*fh, filename, comm);
        });
}
extern "C" int p_MPI_File_open(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh) {
    return by_profiling_name<Function::MPI_File_open>(&w_MPI_File_open, comm, filename, amode, info, fh);
}

}  // namespace mpiric::wrap

#include "files/open_files.hpp"

#include "files/state.hpp"
#include "profile/context.hpp"
#include "world/datatypes.hpp"

#include <processor.hpp>

namespace mpiric::files {
namespace {

constexpr uint32_t through_mpi = 1;

/// Mode of an open, in the encoding of the record.
uint64_t asked_of_mpi(int mode) noexcept {
    const auto bit = [mode](int flag, uint64_t value) { return mode & flag ? value : 0; };
    return bit(MPI_MODE_RDONLY, 1) | bit(MPI_MODE_WRONLY, 2) | bit(MPI_MODE_RDWR, 3) |
           bit(MPI_MODE_CREATE, 4) | bit(MPI_MODE_APPEND, 16) | bit(MPI_MODE_EXCL, 32);
}

/// Byte of the file at a place of its view, -1 where the library does not say.
int64_t byte_at(MPI_File file, int64_t place) noexcept {
    MPI_Offset byte = -1;
    if (place < 0 || !world::library.File_get_byte_offset ||
        world::library.File_get_byte_offset(file, MPI_Offset(place), &byte) != MPI_SUCCESS)
        return -1;
    return byte;
}

/// Finds the bytes of an access; false where they are not known.
bool locate(MPI_File file, const OpenFile& open, const SharedAccess& access, Located& found) noexcept {
    const int64_t elements = int64_t(access.bytes) / open.elementary_bytes;
    MPI_Offset begin = access.place.offset;
    if (elements <= 0 || access.place.kind == world::FilePlace::unknown)
        return false;
    if (access.place.kind == world::FilePlace::behind_pointer) {
        if (!world::library.File_get_position ||
            world::library.File_get_position(file, &begin) != MPI_SUCCESS)
            return false;
        begin -= elements;
    }
    const int64_t last = byte_at(file, begin + elements - 1);
    found = {byte_at(file, begin), last + open.elementary_bytes, access.bytes};
    return found.begin >= 0 && last >= found.begin;
}

}  // namespace

void file_opened(MPI_File file, const SharedOpen& open) noexcept {
    const Held held(runtime.recorder.lock(), runtime.recorder.many_threads());
    profile::File* row = runtime.recorder.file(open.path, through_mpi, open.processes);
    if (!row)
        return;
    OpenFile opened;
    opened.row = row;
    state.open_files.put(world::number(file), opened);
    ++row->opens;
    row->metadata_ticks += open.ticks;
    profile::FileDetail& detail = runtime.recorder.detail(*row);
    detail.opened |= asked_of_mpi(open.mode);
    if (open.mode & MPI_MODE_CREATE && open.is_first && ++detail.creating == 1)
        detail.first_created_ticks = ticks();
}

void view_changed(MPI_File file, MPI_Datatype elementary) noexcept {
    OpenFile open;
    const auto bytes = int64_t(world::size_of(elementary));
    if (bytes == 0 || !state.open_files.get(world::number(file), open))
        return;
    open.elementary_bytes = bytes;
    state.open_files.put(world::number(file), open);
}

void file_accessed(MPI_File file, const SharedAccess& access) noexcept {
    OpenFile open;
    if (!state.open_files.get(world::number(file), open))
        return;
    Located located;
    const bool is_located = locate(file, open, access, located);
    {
        const Held held(runtime.recorder.lock(), runtime.recorder.many_threads());
        profile::File& row = *open.row;
        ++(access.is_write ? row.writes : row.reads);
        (access.is_write ? row.bytes_written : row.bytes_read) += access.bytes;
        (access.is_write ? row.write_ticks : row.read_ticks) += access.ticks;
        if (!is_located)
            return Trail::count_size(row, access.bytes);
        open.trail.count(row, located);
    }
    state.open_files.put(world::number(file), open);
}

void forget_file(MPI_File file) noexcept { state.open_files.erase(world::number(file)); }

}  // namespace mpiric::files

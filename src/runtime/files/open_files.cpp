// Counts what the wrappers of MPI-IO report, in the rows of the record's table of files, and notes hints.
#include "files/files.hpp"

#include "base/own_file.hpp"
#include "profile/context.hpp"
#include "world/datatypes.hpp"

#include <algorithm>
#include <cstdio>
#include <processor.hpp>
#include <unistd.h>

namespace mpiric::files {
namespace {

constexpr int longest_value = 1024;
constexpr int most_files = 64;  // files per rank whose hints are read back

void write_line(int to, const char* first, const char* second) noexcept {
    char line[longest_value + MPI_MAX_INFO_KEY + 8];
    int bytes = std::snprintf(line, sizeof line - 1, "%s %s", first, second);
    bytes = std::clamp(bytes, 0, int(sizeof line) - 2);
    std::replace(line, line + bytes, '\n', '?');
    line[bytes] = '\n';
    [[maybe_unused]] const ssize_t put = write(to, line, size_t(bytes) + 1);
}

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

void note_hints(MPI_File file, const char* path, MPI_Comm comm) noexcept {
    int rank = -1, world_rank = 0;
    if (!runtime.recording || world::library.Comm_rank(comm, &rank) != MPI_SUCCESS || rank != 0 ||
        state.hints_noted.fetch_add(1) >= most_files)
        return;
    world::library.Comm_rank(world::handles.comm_world, &world_rank);
    MPI_Info used{};
    if (world::library.File_get_info(file, &used) != MPI_SUCCESS)
        return;
    char name[4096];
    std::snprintf(name, sizeof name, "%s/hints.%d", runtime.options.record_dir, world_rank);
    const int to = open_to_append(name, 0666);
    if (to >= 0) {
        write_line(to, "file", path);
        int keys = 0;
        world::library.Info_get_nkeys(used, &keys);
        for (int at = 0; at < keys; ++at) {
            char key[MPI_MAX_INFO_KEY + 1] = "", value[longest_value + 1] = "";
            int found = 0;
            if (world::library.Info_get_nthkey(used, at, key) == MPI_SUCCESS &&
                world::library.Info_get(used, key, longest_value, value, &found) == MPI_SUCCESS && found)
                write_line(to, key, value);
        }
        close(to);
    }
    world::library.Info_free(&used);
}

}  // namespace mpiric::files

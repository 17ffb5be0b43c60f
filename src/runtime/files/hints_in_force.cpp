#include "files/hints_in_force.hpp"

#include "base/own_file.hpp"
#include "files/state.hpp"
#include "profile/context.hpp"

#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace mpiric::files {

using world::library;

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

void write_hints(int to, MPI_Info info) noexcept {
    int keys = 0;
    library.Info_get_nkeys(info, &keys);
    for (int at = 0; at < keys; ++at) {
        char key[MPI_MAX_INFO_KEY + 1] = "", value[longest_value + 1] = "";
        int found = 0;
        if (library.Info_get_nthkey(info, at, key) == MPI_SUCCESS &&
            library.Info_get(info, key, longest_value, value, &found) == MPI_SUCCESS && found)
            write_line(to, key, value);
    }
}

}  // namespace

void note_hints(MPI_File file, const char* path, MPI_Comm comm) noexcept {
    int rank = -1, world_rank = 0;
    if (!runtime.recording || library.Comm_rank(comm, &rank) != MPI_SUCCESS || rank != 0 ||
        state.hints_noted.fetch_add(1) >= most_files)
        return;
    library.Comm_rank(world::handles.comm_world, &world_rank);
    MPI_Info used{};
    if (library.File_get_info(file, &used) != MPI_SUCCESS)
        return;
    char name[4096];
    std::snprintf(name, sizeof name, "%s/hints.%d", runtime.options.record_dir, world_rank);
    const int to = open_to_append(name, 0666);
    if (to >= 0) {
        write_line(to, "file", path);
        write_hints(to, used);
        close(to);
    }
    library.Info_free(&used);
}

}  // namespace mpiric::files

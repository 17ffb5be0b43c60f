// The layers of files as they are opened and made: hints of MPI-IO, layouts of Lustre, objects of HDF5.
#include "layouts/layouts.hpp"

#include "base/text.hpp"
#include "profile/context.hpp"
#include "symbols/switchboard.hpp"
#include "world/library.hpp"

#include <algorithm>

namespace mpiric::layouts {
namespace {

using world::library;

constexpr int longest_value = 1024;

bool has(MPI_Info info, const char* key) noexcept {
    char value[longest_value + 1];
    int found = 0;
    return library.Info_get(info, key, longest_value, value, &found) == MPI_SUCCESS && found;
}

void set_missing(MPI_Info info, std::string_view words) noexcept {
    while (!words.empty()) {
        std::string_view value = cut(words, ' ');
        const std::string_view key = cut(value, '=');
        char terminated[2][longest_value + 1];
        if (key.empty() || value.empty() || key.size() >= MPI_MAX_INFO_KEY || value.size() > longest_value)
            continue;
        *std::copy(key.begin(), key.end(), terminated[0]) = '\0';
        *std::copy(value.begin(), value.end(), terminated[1]) = '\0';
        if (!has(info, terminated[0]))
            library.Info_set(info, terminated[0], terminated[1]);
    }
}

/// The info object to open a file with: the program's own, or a copy of it with the hints of the file's rule.
/// The program's own keys win.
MPI_Info hinted(const char* path, MPI_Info own) noexcept {
    const std::string_view words = path ? words_for(path, runtime.options.file_hints) : std::string_view();
    if (words.empty())
        return own;
    MPI_Info copy{};
    const bool bare = own == world::handles.info_null;
    if ((bare ? library.Info_create(&copy) : library.Info_dup(own, &copy)) != MPI_SUCCESS)
        return own;
    set_missing(copy, words);
    return copy;
}

/// MPI_File_open: the only moment at which a library takes hints for all of a file's life.
template <void* symbols::NextFunction::* following>
int open_file(MPI_Comm comm, const char* path, int mode, MPI_Info own, MPI_File* file) {
    MPI_Info info = hinted(path, own);
    const int result = reinterpret_cast<decltype(&open_file<following>)>(state.unhinted.*following)(
        comm, path, mode, info, file);
    if (info != own)
        library.Info_free(&info);
    return result;
}

void insert_hints(symbols::Function, symbols::NextFunction& following) noexcept {
    state.unhinted = following;
    following = {reinterpret_cast<void*>(&open_file<&symbols::NextFunction::next>),
                 reinterpret_cast<void*>(&open_file<&symbols::NextFunction::library>)};
}

}  // namespace

extern constinit const Layer layer_file_hints;
constinit const Layer layer_file_hints{
    .name = "file hints",
    .enabled = [](const Options& options) noexcept { return *options.file_hints != '\0'; },
    .interest =
        [](symbols::Function function) noexcept {
            return function == symbols::Function::MPI_File_open ? Interest::replace : Interest::none;
        },
    .replace = insert_hints,
};

extern constinit const Layer layer_file_layouts;
constinit const Layer layer_file_layouts{
    .name = "file layouts",
    .enabled = [](const Options& options) noexcept { return *options.file_layouts != '\0'; },
    .posix_interest = [](Posix) noexcept { return state.lays_out ? Interest::watch : Interest::none; },
    .on_init =
        [](ProgramWorld&) noexcept {
            state.lays_out = true;
            symbols::interest_changed();
        },
    .on_finalize = [](const ProgramWorld&) noexcept { state.lays_out = false; },
};

// At work whenever its name is called, with MPI or before.
extern constinit const Layer layer_hdf5;
constinit const Layer layer_hdf5{
    .name = "HDF5",
    .enabled = [](const Options&) noexcept { return false; },
    .exported = "H5Fcreate",
    .shows = arranges_hdf5,
};

}  // namespace mpiric::layouts

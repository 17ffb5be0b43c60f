// Exported names that later look-ups see: those of the MPI library, also while one is being opened.
#include "symbols/switchboard.hpp"

#include "base/elf_file.hpp"
#include "base/thread.hpp"
#include "world/library.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string_view>
#include <unistd.h>

namespace mpiric::symbols {
namespace {

/// The layer that exports a name of another library; null for MPI's.
const Layer* exporting(const char* name) noexcept {
    for (const Layer* layer : layers())
        if (layer->exported && std::strcmp(layer->exported, name) == 0)
            return layer;
    return nullptr;
}

/// Makes an MPI name visible to later look-ups where `has` holds, and the others invisible; names of other
/// libraries where a layer is to act on them.
template <class Has> void show(Has&& has) noexcept {
    const DynamicSymbols symbols = own_symbols();
    if (!symbols.table || !symbols.names)
        return;
    bool writable = false;
    for (size_t at = 0; at < symbols.count; ++at) {
        ElfW(Sym) & symbol = symbols.table[at];
        const char* name = symbols.names + symbol.st_name;
        const char* plain = *name == 'P' ? name + 1 : name;
        const bool is_mpi = std::strncmp(plain, "MPI_", 4) == 0;
        const Layer* layer = is_mpi ? nullptr : exporting(name);
        if (symbol.st_shndx == SHN_UNDEF || (!is_mpi && !layer))
            continue;
        // The dynamic linker does not see local symbols; the code stays where callers bound to it find it.
        const bool shown = layer ? layer->shows() : has(name, plain);
        const uint8_t binding = shown ? STB_GLOBAL : STB_LOCAL;
        if (ELF64_ST_BIND(symbol.st_info) == binding)
            continue;
        if (!writable && !(writable = symbols.protect(PROT_READ | PROT_WRITE)))
            return;
        symbol.st_info = uint8_t(ELF64_ST_INFO(binding, ELF64_ST_TYPE(symbol.st_info)));
    }
}

/// Functions that not every library has.
constexpr std::string_view recent[] = {
#define MPIRIC_RECENT_recent(name) #name,
#define MPIRIC_RECENT_everywhere(name)
#define MPIRIC_FUNCTION(name, family, wrapper, profiling, communicators, presence)                           \
    MPIRIC_RECENT_##presence(name)
#include "symbols/functions.inc"
#undef MPIRIC_FUNCTION
};

/// Path of the library of a name that the search path of the environment leads to; empty: none.
void search(const char* name, char (&path)[PATH_MAX]) noexcept {
    const char* given = std::getenv("LD_LIBRARY_PATH");
    std::string_view directories(given ? given : "");
    while (!directories.empty()) {
        const std::string_view directory = directories.substr(0, directories.find_first_of(":;"));
        std::snprintf(path, sizeof path, "%.*s/%s", int(directory.size()), directory.data(), name);
        if (!directory.empty() && access(path, R_OK) == 0)
            return;
        directories.remove_prefix(std::min(directories.size(), directory.size() + 1));
    }
    *path = '\0';
}

/// Shows the names for a library that is being opened: it may bring the MPI library, and binds its references
/// before any of our code runs again. Shown are the names in the file of the MPI library, which the opened
/// library's own needs or the launch name; without that file, names that every library has and names that the
/// opened library could not be loaded without.
void show_for(const char* opened) noexcept {
    const ElfFile module(std::strchr(opened, '/') ? opened : "");
    char path[PATH_MAX] = "";
    // An rpath, which comes before the environment, is not followed.
    const char* needed = nullptr;
    const bool has_rpath = module.any<Elf64_Dyn>(SHT_DYNAMIC, [&](const Elf64_Dyn& entry, auto&& text) {
        if (entry.d_tag == DT_NEEDED && !needed && std::strncmp(text(entry.d_un.d_val), "libmpi", 6) == 0)
            needed = text(entry.d_un.d_val);
        return entry.d_tag == DT_RPATH;
    });
    if (needed && !has_rpath)
        search(needed, path);
    const char* named = std::getenv("MPIRIC_LIBRARY");
    const ElfFile library(*path ? path : named ? named : "");
    const bool is_readable =
        library.any<Elf64_Sym>(SHT_DYNSYM, [](const Elf64_Sym&, auto&&) { return true; });
    show([&](const char* name, const char* plain) {
        if (is_readable)
            return library.any<Elf64_Sym>(SHT_DYNSYM, [name](const Elf64_Sym& symbol, auto&& text) {
                return symbol.st_shndx != SHN_UNDEF && std::strcmp(text(symbol.st_name), name) == 0;
            });
        // Or the module cannot be loaded without it.
        return !std::binary_search(std::begin(recent), std::end(recent), std::string_view(plain)) ||
               module.any<Elf64_Sym>(SHT_DYNSYM, [name](const Elf64_Sym& symbol, auto&& text) {
                   return symbol.st_shndx == SHN_UNDEF && ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL &&
                          std::strcmp(text(symbol.st_name), name) == 0;
               });
    });
}

struct Openings {
    std::atomic<uint32_t> count{0};
    std::atomic<bool> library_loaded{false};
    std::atomic<void*> dlopen{nullptr};  ///< the next definition
};
constinit Openings openings;

void show_what_is_loaded() noexcept {
    show([](const char* name, const char*) { return world::find(name) != nullptr; });
    openings.library_loaded.store(true, std::memory_order_release);
}

/// Shows the names that the library has, once it is loaded; until then no MPI name, except while `opened` is
/// being opened. No lock: another thread may hold the dynamic linker's lock and come here.
void update_visible_names(const char* opened) noexcept {
    // To look for the library is to call dlopen.
    if (openings.library_loaded.load(std::memory_order_acquire) || thread.looking_for_library)
        return;
    thread.looking_for_library = true;
    if (world::find("PMPI_Init")) {
        show_what_is_loaded();
    } else {
        if (opened)
            show_for(opened);
        else
            show([](const char*, const char*) { return false; });
        if (openings.library_loaded.load(std::memory_order_acquire))  // loaded by another thread, meanwhile
            show_what_is_loaded();
    }
    thread.looking_for_library = false;
}

[[gnu::constructor]] void at_load() { update_visible_names(nullptr); }

}  // namespace

uint32_t library_openings() noexcept { return openings.count.load(std::memory_order_relaxed); }

void show_what_the_library_has() noexcept { update_visible_names(nullptr); }

}  // namespace mpiric::symbols

/// Where a call of dlopen goes on to, from where it came: the caller decides where libraries are sought.
extern "C" [[gnu::visibility("hidden")]] void* mpiric_opening(const char* path) noexcept {
    const int error = errno;
    auto& openings = mpiric::symbols::openings;
    openings.count.fetch_add(1, std::memory_order_relaxed);
    mpiric::symbols::update_visible_names(path);
    void* real = openings.dlopen.load(std::memory_order_relaxed);
    if (!real)
        openings.dlopen.store(real = dlsym(RTLD_NEXT, "dlopen"), std::memory_order_relaxed);
    errno = error;
    return real;
}

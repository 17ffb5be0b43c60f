// Finds the MPI library among what is loaded, tells its family, and binds the functions that we call.
#include "world/library.hpp"

#include "base/spin_lock.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <initializer_list>
#include <iterator>
#include <link.h>

namespace mpiric::world {

constinit Library library;
constinit Handles handles;

namespace {

/// Search results for the process's library.
struct Found {
    char version[2048] = "";  ///< text of MPI_Get_library_version
    void* opened = nullptr;   ///< handle of a library that was opened privately
    StandIn stand_in{};
    std::atomic<bool> is_stand_in_found{false}, is_stand_in_absent{false};
    SpinLock filling;  ///< held while `stand_in` is filled
};
constinit Found found;

/// Names of the loaded objects.
struct Names {
    const char* names[512];
    int count = 0;
};

/// Handle of a library that has MPI and was opened privately; null when there is none.
void* private_library() noexcept {
    if (found.opened)
        return found.opened;
    // Names are gathered first: inside dl_iterate_phdr dlopen would wait for its lock.
    Names loaded;
    auto gather = [](dl_phdr_info* object, size_t, void* into) {
        Names& all = *static_cast<Names*>(into);
        if (object->dlpi_name && *object->dlpi_name && all.count < int(std::size(all.names)))
            all.names[all.count++] = object->dlpi_name;
        return 0;
    };
    dl_iterate_phdr(gather, &loaded);
    Dl_info ourselves{};
    dladdr(reinterpret_cast<void*>(&find), &ourselves);
    for (int at = 0; at < loaded.count && !found.opened; ++at) {
        void* handle = dlopen(loaded.names[at], RTLD_LAZY | RTLD_NOLOAD);
        if (!handle)
            continue;
        Dl_info where{};
        void* symbol = dlsym(handle, "PMPI_Init");
        if (symbol && dladdr(symbol, &where) && std::strcmp(where.dli_fname, loaded.names[at]) == 0 &&
            where.dli_fbase != ourselves.dli_fbase)
            found.opened = handle;
        else
            dlclose(handle);
    }
    return found.opened;
}

bool contains(const char* text, const char* word) noexcept { return std::strstr(text, word) != nullptr; }

/// Family of the library that has a symbol, by its file name and its version text.
const char* family_of(void* symbol) noexcept {
    Dl_info where{};
    if (!dladdr(symbol, &where))
        return "";
    if (const char* name = std::strrchr(where.dli_fname, '/');
        contains(name ? name : where.dli_fname, "mpi_abi"))
        return "standard";
    if (contains(found.version, "Open MPI"))
        return "openmpi";
    for (const char* name : {"MPICH", "Intel(R) MPI", "MVAPICH", "CRAY MPI", "ParaStation"})
        if (contains(found.version, name))
            return "mpich";
    return "";
}

}  // namespace

void* find_linked(const char* symbol) noexcept {
    void* address = dlsym(RTLD_NEXT, symbol);
    if (!address)
        dlerror();  // the program must not read of our question
    return address;
}

const StandIn* stand_in() noexcept {
    if (found.is_stand_in_found.load(std::memory_order_acquire))
        return &found.stand_in;
    if (found.is_stand_in_absent.load(std::memory_order_relaxed))
        return nullptr;
    constexpr const char* marker = "mpiric_stand_in_for";
    void* const linked = dlsym(RTLD_DEFAULT, marker);
    const bool has_linked_library = find_linked("PMPI_Init");
    Dl_info where{};
    void* handle = linked && dladdr(linked, &where) ? dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                   : has_linked_library             ? nullptr
                                                    : private_library();
    const void* family = handle ? dlsym(handle, marker) : nullptr;
    if (!family) {
        dlerror();
        found.is_stand_in_absent.store(handle || has_linked_library, std::memory_order_relaxed);
        return nullptr;
    }
    const Held held(found.filling, true);
    StandIn& known = found.stand_in;
    known.family = static_cast<const char*>(family);
    known.handle = handle;
    known.entrance = reinterpret_cast<decltype(known.entrance)>(dlsym(handle, "mpiric_stand_in_entrance"));
    known.next = reinterpret_cast<decltype(known.next)>(dlsym(handle, "mpiric_stand_in_next"));
    known.lead = reinterpret_cast<decltype(known.lead)>(dlsym(handle, "mpiric_stand_in_lead"));
    found.is_stand_in_found.store(true, std::memory_order_release);
    return &known;
}

void* find_function(const char* symbol) noexcept {
    const StandIn* below = stand_in();
    return below && below->next ? below->next(symbol) : find(symbol);
}

void* find(const char* symbol) noexcept {
    if (const StandIn* below = stand_in())
        return dlsym(below->handle, symbol);
    if (void* address = find_linked(symbol))
        return address;
    if (find_linked("PMPI_Init"))
        return nullptr;
    void* handle = private_library();
    void* address = handle ? dlsym(handle, symbol) : nullptr;
    if (!address)
        dlerror();
    return address;
}

void* find_variable(const char* symbol) noexcept {
    if (void* address = dlsym(RTLD_DEFAULT, symbol))
        return address;
    return find(symbol);
}

bool family_fits() noexcept {
    void* symbol = find_function("PMPI_Get_library_version");
    if (!symbol)
        return false;
    // The one call whose types are the same in every family.
    int length = 0;
    char text[8192] = "";
    reinterpret_cast<int (*)(char*, int*)>(symbol)(text, &length);
    std::memcpy(found.version, text, sizeof found.version - 1);
    // A stand-in has the types of one family and the text of another.
    const StandIn* below = stand_in();
    return std::strcmp(below ? below->family : family_of(symbol), MPIRIC_FAMILY) == 0;
}

const char* version_text() noexcept { return found.version; }

void bind() noexcept {
#define MPIRIC_BIND(name)                                                                                    \
    library.name = reinterpret_cast<decltype(library.name)>(find_function("PMPI_" #name));
    MPIRIC_OWN_CALLS(MPIRIC_BIND)
#undef MPIRIC_BIND
    handles = predefined();
}

}  // namespace mpiric::world

// Opens the library underneath with the first call of MPI.

#include "arguments.hpp"
#include "loaded.hpp"

#include <cstdio>
#include <dlfcn.h>
#include <limits.h>
#include <mutex>
#include <string>
#include <unistd.h>

extern "C" [[gnu::visibility("hidden")]] void
mpiric_lacking();  // names the function that the register r10 says
extern "C" [[gnu::visibility("hidden")]] void* const mpiric_entrances[];

// By which a stand-in is recognised, whatever the library underneath says of itself.
extern "C" {
[[gnu::visibility("default")]] extern const char mpiric_stand_in_for[];
const char mpiric_stand_in_for[] = MPIRIC_TEXT(MPIRIC_PROGRAM);
/// Called by another stand-in, which this one is the library of.
[[gnu::visibility("default")]] void mpiric_stand_in_is_below() { mpiric::translate::is_below_another = true; }
}

namespace mpiric::translate {

bool is_below_another = false;
LInfo null_info{};

namespace {

void* opened = nullptr;
LComm world{};

enum class How { generated, by_hand, own, refused };
struct Entry {
    const char* name;
    How how;
    void* translation;
};
#define generated(name) reinterpret_cast<void*>(+t_##name)
#define by_hand(name) reinterpret_cast<void*>(+t_##name)
#define own(name) reinterpret_cast<void*>(+t_##name)
#define refused(name) nullptr
#define FUNCTION(name, how) {#name, How::how, how(name)},
const Entry entries[] = {
#include "generated/names.inc"
};
#undef FUNCTION
#undef generated
#undef by_hand
#undef own
#undef refused

/// The library's path: from the environment, else from the file `library` next to the stand-in; else empty.
const char* path() {
    static char found[PATH_MAX] = "";
    if (*found)
        return found;
    if (const char* given = std::getenv("MPIRIC_TRANSLATE"); given && *given) {
        std::snprintf(found, sizeof found, "%s", given);
        return found;
    }
    Dl_info own;
    if (!dladdr(reinterpret_cast<void*>(&path), &own) || !own.dli_fname)
        return "";
    std::string beside = own.dli_fname;
    beside.resize(beside.rfind('/') == std::string::npos ? 0 : beside.rfind('/') + 1);
    if (FILE* file = std::fopen((beside + "library").c_str(), "re")) {
        if (!std::fgets(found, sizeof found, file))
            *found = '\0';
        found[std::strcspn(found, "\n")] = '\0';
        std::fclose(file);
    }
    return found;
}

/// The number of an exported name, MPI_ or PMPI_; -1 for any other name.
int index_of(const char* name) {
    const bool is_profiling = *name == 'P';
    const Entry* end = std::end(entries);
    const Entry* found = std::lower_bound(
        std::begin(entries), end, name + is_profiling,
        [](const Entry& entry, const char* wanted) { return std::strcmp(entry.name, wanted) < 0; });
    if (found == end || std::strcmp(found->name, name + is_profiling) != 0)
        return -1;
    return int(2 * (found - std::begin(entries)) + is_profiling);
}

Answer answer_of(const char* name) {
    const int at = index_of(name);
    const How how = at < 0 ? How::generated : entries[at / 2].how;
    return how == How::refused ? Answer::never : how == How::own ? Answer::always : Answer::library;
}

[[gnu::constructor]] void at_load() {
    if (*path())
        hide_what_is_lacking(path(), &answer_of);
}

// The value of a predefined handle on either side: a number, or the address of a data object.
template <class Handle> Handle as_handle(std::uintptr_t value) {
    if constexpr (std::is_same_v<Handle, int>)
        return int(value);
    else
        return reinterpret_cast<Handle>(value);
}

}  // namespace
}  // namespace mpiric::translate

#include "objects.inc"

namespace mpiric::translate {
namespace {

template <class T> void note(const char* name, LHandle<T> handle) {
    if constexpr (std::is_same_v<T, Comm>)
        if (std::strcmp(name, "MPI_COMM_WORLD") == 0)
            world = handle;
    if constexpr (std::is_same_v<T, Info>)
        if (std::strcmp(name, "MPI_INFO_NULL") == 0)
            null_info = handle;
}

void add_predefined_handles() {
#define ABSENT absent_handle
#define PREDEFINED(kind, name, mpich, openmpi, standard)                                                     \
    if (const auto program_value = OF_PROGRAM(mpich, openmpi, standard); program_value != absent_handle) {   \
        const auto library_value = OF_LIBRARY(mpich, openmpi, standard);                                     \
        const auto library_handle =                                                                          \
            as_handle<LHandle<kind>>(library_value == absent_handle ? 0 : library_value);                    \
        add_predefined<kind>(as_handle<PHandle<kind>>(program_value), library_handle);                       \
        note<kind>(#name, library_handle);                                                                   \
    }
#include "generated/predefined.inc"
#undef PREDEFINED
#undef ABSENT
}

void lead(unsigned name, void* target) { __atomic_store_n(&mpiric_targets[name], target, __ATOMIC_RELEASE); }

/// Functions with large counts, and their forms that use the plain function.
struct NarrowForm {
    Function large, plain;
    void* form;
};
const NarrowForm narrow_forms[] = {
#define NARROW(large, plain) {F_##large, F_##plain, reinterpret_cast<void*>(+n_##large)},
#include "generated/narrow_names.inc"
#undef NARROW
};

/// The translation of a function for the program; null when there is none.
void* translation_of(unsigned function) {
    const Entry& entry = entries[function];
    const bool is_there = mpiric_originals[2UL * function] != reinterpret_cast<void*>(&mpiric_lacking);
    if (!is_there)
        for (const NarrowForm& narrow : narrow_forms)
            if (narrow.large == function)
                return mpiric_originals[2UL * narrow.plain] != reinterpret_cast<void*>(&mpiric_lacking)
                           ? narrow.form
                           : nullptr;
    return entry.how == How::own || (is_there && entry.how != How::refused) ? entry.translation : nullptr;
}

/// The target of an exported name for the program; null when there is none.
void* next_of(unsigned name) {
    void* translation = translation_of(name / 2);
    void* tool = translation && name % 2 == 0 ? tool_above(opened, entries[name / 2].name) : nullptr;
    return tool ? tool : translation;
}

void find_functions() {
    for (unsigned at = 0; at < function_count; ++at) {
        const std::string profiling = std::string("P") + entries[at].name;
        void* original = dlsym(opened, entries[at].name);
        void* by_profiling_name = dlsym(opened, profiling.c_str());
        if (!original && has_form_of_extension(entries[at].name)) {
            original = dlsym(opened, extension(entries[at].name).c_str());
            by_profiling_name = dlsym(opened, ("P" + extension(entries[at].name)).c_str());
        }
        if (void* tool = original ? tool_below(opened, entries[at].name) : nullptr)
            mpiric_originals[2UL * at] = tool;
        else if (original)
            mpiric_originals[2UL * at] = original;
        if (original || by_profiling_name)
            mpiric_originals[2UL * at + 1] = by_profiling_name ? by_profiling_name : original;
    }
    for (unsigned name = 0; name < 2 * function_count; ++name) {
        void* next = next_of(name);
        lead(name, next ? next : reinterpret_cast<void*>(&mpiric_lacking));  // names the function
    }
    dlerror();  // the program must not read of our questions
}

}  // namespace

void* symbol_of_library(const char* name) { return dlsym(opened, name); }

void* data_symbol(const char* name) {
    void* found = dlsym(RTLD_DEFAULT, name);  // objects loaded at the start precede the library's own
    return found ? found : symbol_of_library(name);
}

int refuse(Function function, const char* why) {
    const Entry& entry = entries[function];
    std::fprintf(stderr,
                 "mpiric: %s cannot be called under %s: %s\n"
                 "hint: `mpiric inspect` of the program shows what each library lacks\n",
                 entry.name, path(), why);
    int is_running = 0, has_ended = 0;
    const int depth = mpiric_depth;
    mpiric_depth = 1;
    original<F_MPI_Initialized, int(int*)>()(&is_running);
    original<F_MPI_Finalized, int(int*)>()(&has_ended);
    if (is_running && !has_ended && std::strncmp(entry.name, "MPI_T_", 6) != 0)
        original<F_MPI_Comm_call_errhandler, int(LComm, int)>()(world, library::ERR_UNSUPPORTED_OPERATION);
    mpiric_depth = depth;
    return program::ERR_UNSUPPORTED_OPERATION;
}

long peers(PComm comm) {
    const LComm given = in<Comm>(comm);
    int is_between = 0, count = 0;
    original<F_MPI_Comm_test_inter, int(LComm, int*)>()(given, &is_between);
    if (is_between)
        original<F_MPI_Comm_remote_size, int(LComm, int*)>()(given, &count);
    else
        original<F_MPI_Comm_size, int(LComm, int*)>()(given, &count);
    return count;
}

template <bool is_sending> long neighbours(PComm comm) {
    const LComm given = in<Comm>(comm);
    // In the order of the spec: UNDEFINED CART GRAPH DIST_GRAPH.
    const auto& topologies = library::topology_values;
    int topology = topologies[0], count = 0, other = 0, rank = 0;
    original<F_MPI_Topo_test, int(LComm, int*)>()(given, &topology);
    if (topology == topologies[1]) {
        original<F_MPI_Cartdim_get, int(LComm, int*)>()(given, &count);
        count *= 2;
    } else if (topology == topologies[2]) {
        original<F_MPI_Comm_rank, int(LComm, int*)>()(given, &rank);
        original<F_MPI_Graph_neighbors_count, int(LComm, int, int*)>()(given, rank, &count);
    } else if (topology == topologies[3]) {
        int* const incoming = is_sending ? &other : &count;
        int* const outgoing = is_sending ? &count : &other;
        int is_weighted = 0;
        original<F_MPI_Dist_graph_neighbors_count, int(LComm, int*, int*, int*)>()(given, incoming, outgoing,
                                                                                   &is_weighted);
    }
    return count;
}

}  // namespace mpiric::translate

extern "C" [[gnu::visibility("hidden")]] void mpiric_open() {
    using namespace mpiric::translate;
    static std::once_flag once;
    std::call_once(once, [] {
        if (!*path())
            give_up("this stand-in for an MPI library has no library underneath: its directory has no file "
                    "`library`\n"
                    "hint: `mpiric mpi stand-in` writes a directory with both");
        mpiric_depth = 1;  // calls that the library makes while it is being opened are its own
        open_dependencies(path());
        opened = dlopen(path(), RTLD_LAZY | RTLD_LOCAL);
        if (!opened)
            give_up("the MPI library under the program cannot be opened: %s\n"
                    "hint: `mpiric mpi list` shows the installed MPI libraries, `mpiric mpi stand-in` "
                    "selects one",
                    dlerror());
        if (void* below = dlsym(opened, "mpiric_stand_in_is_below"))
            reinterpret_cast<void (*)()>(below)();
        make_handles();
        add_predefined_handles();
        add_fortran_numbers();
        find_data();
        find_functions();
        mpiric_depth = 0;
    });
}

// The runtime above a stand-in takes its place in the entrances, where the library's own calls have been told
// apart already: it gets each call of the program, and passes it on to the translation.
extern "C" {
/// The entrance of an exported name; null for any other name.
[[gnu::visibility("default")]] void* mpiric_stand_in_entrance(const char* name) {
    const int at = mpiric::translate::index_of(name);
    return at < 0 ? nullptr : mpiric_entrances[at];
}
/// The target of the program's calls of a name behind its entrance: a tool, or the translation; null when
/// there is none. Opens the library.
[[gnu::visibility("default")]] void* mpiric_stand_in_next(const char* name) {
    const int at = mpiric::translate::index_of(name);
    mpiric_open();
    return at < 0 ? nullptr : mpiric::translate::next_of(unsigned(at));
}
/// Puts `target` between the entrance of a name and its translation.
[[gnu::visibility("default")]] void mpiric_stand_in_lead(const char* name, void* target) {
    const int at = mpiric::translate::index_of(name);
    if (at >= 0)
        mpiric::translate::lead(unsigned(at), target);
}
}

extern "C" [[gnu::visibility("hidden")]] int mpiric_refuse(unsigned index) {
    using namespace mpiric::translate;
    const bool is_refused = entries[index].how == How::refused;
    return refuse(Function(index), is_refused ? "it is not translated" : "the library does not have it");
}

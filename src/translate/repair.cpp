// Preloaded before a library of the MPI standard's ABI that gives some constants other values than the
// standard: replaces the functions that take or return such a constant, and leaves all others alone. Calls of
// the library itself use its own values already; they are recognised by the address of the caller.
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <link.h>

namespace {

struct Pair {
    std::uintptr_t standard, library;
};

template <class T> std::uintptr_t bits(T value) {
    if constexpr (sizeof(T) == sizeof(int))
        return std::uintptr_t(unsigned(value));
    else
        return reinterpret_cast<std::uintptr_t>(value);
}
template <class T> T value_of(std::uintptr_t bits) {
    if constexpr (sizeof(T) == sizeof(int))
        return T(bits);
    else
        return reinterpret_cast<T>(bits);
}
template <std::size_t count, class T> T to_library(const Pair (&pairs)[count], T value) {
    for (const Pair& pair : pairs)
        if (pair.standard == bits(value))
            return value_of<T>(pair.library);
    return value;
}
template <std::size_t count, class T> T to_program(const Pair (&pairs)[count], T value) {
    for (const Pair& pair : pairs)
        if (pair.library == bits(value))
            return value_of<T>(pair.standard);
    return value;
}
template <class T, class Convert> void change(T* value, Convert convert) {
    if (value)
        *value = convert(*value);
}

/// Where the library is, and how it is asked for its functions.
struct Library {
    void* handle = dlopen("libmpi_abi.so.1", RTLD_LAZY | RTLD_NOLOAD);
    std::uintptr_t begin = 0, end = 0;

    Library() {
        void* inside = handle ? dlsym(handle, "PMPI_Init") : nullptr;
        begin = std::uintptr_t(inside);
        dl_iterate_phdr(&Library::measure, this);
    }
    bool holds(const void* address) const {
        return std::uintptr_t(address) >= begin && std::uintptr_t(address) < end;
    }

  private:
    static int measure(dl_phdr_info* object, std::size_t, void* result) {
        auto* library = static_cast<Library*>(result);
        std::uintptr_t first = UINTPTR_MAX, last = 0;
        for (int at = 0; at < object->dlpi_phnum; ++at) {
            const ElfW(Phdr) & header = object->dlpi_phdr[at];
            const std::uintptr_t from = object->dlpi_addr + header.p_vaddr;
            if (header.p_type != PT_LOAD)
                continue;
            first = from < first ? from : first;
            last = from + header.p_memsz > last ? from + header.p_memsz : last;
        }
        if (library->begin < first || library->begin >= last)
            return 0;
        library->begin = first;
        library->end = last;
        return 1;
    }
};

/// The next definition of a name: the library's function, or a tool's, which gets the constants unchanged.
struct Next {
    void* function;
    bool is_of_library;

    explicit Next(const char* name) : function(dlsym(RTLD_NEXT, name)), is_of_library(false) {
        static const Library library;
        library_ = &library;
        if (!function && library.handle)
            function = dlsym(library.handle, name);
        if (!function && *name == 'P')  // functions that MPI has removed have one name only
            function = dlsym(library.handle, name + 1);
        is_of_library = library.holds(function);
    }
    bool is_repaired_for(const void* caller) const { return is_of_library && !library_->holds(caller); }

  private:
    const Library* library_;
};

}  // namespace

#define ENTRANCE(name, plain, parameters, ...)                                                               \
    extern "C" [[gnu::visibility("default")]] int name parameters {                                          \
        static const Next next(#name);                                                                       \
        const auto call = reinterpret_cast<decltype(&name)>(next.function);                                  \
        return next.is_repaired_for(__builtin_return_address(0)) ? repaired_##plain(call, __VA_ARGS__)       \
                                                                 : call(__VA_ARGS__);                        \
    }
#define ENTRANCES(name, parameters, ...)                                                                     \
    ENTRANCE(name, name, parameters, __VA_ARGS__)                                                            \
    ENTRANCE(P##name, name, parameters, __VA_ARGS__)
#include MPIRIC_REPAIR

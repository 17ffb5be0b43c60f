// Parallel HDF5: how a file that is made arranges its objects, and who writes its metadata. H5Fcreate is
// exported, and goes on to the library's with a copy of the access properties. Steps:
//   1. Properties stay if the file is not accessed through MPI, or if the program has set them itself.
//   2. Objects of at least the alignment begin at multiples of it, so that ranks meet in fewer stripes.
//   3. Metadata are written collectively. Reads stay as they are: collective ones have corrupted files.
#include "layouts/layouts.hpp"

#include "base/options.hpp"

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <link.h>

namespace mpiric::layouts {
namespace {

using Id = int64_t;  // hid_t of HDF5 1.10 and later

/// The functions of the HDF5 library that the program has loaded.
struct Hdf5 {
    Id (*create)(const char*, unsigned, Id, Id) = nullptr;
    Id (*copy)(Id) = nullptr;
    int (*close)(Id) = nullptr;
    Id (*get_driver)(Id) = nullptr;
    Id (*mpio_driver)() = nullptr;
    int (*get_alignment)(Id, uint64_t*, uint64_t*) = nullptr;
    int (*set_alignment)(Id, uint64_t, uint64_t) = nullptr;
    int (*set_collective_writes)(Id, bool) = nullptr;  // exists since HDF5 1.10

    bool is_parallel() const noexcept {
        return copy && close && get_driver && mpio_driver && get_alignment && set_alignment &&
               set_collective_writes;
    }
};

/// Path of a loaded libhdf5. A libhdf5 that a Python module has loaded is in no scope of RTLD_NEXT.
int find_library(dl_phdr_info* object, size_t, void* result) {
    const char* slash = std::strrchr(object->dlpi_name, '/');
    if (!slash || std::strncmp(slash + 1, "libhdf5", 7) != 0)
        return 0;
    std::snprintf(static_cast<char*>(result), PATH_MAX, "%s", object->dlpi_name);
    return 1;
}

template <class Pointer> void find(void* in, const char* name, Pointer& function) noexcept {
    function = reinterpret_cast<Pointer>(dlsym(in, name));
}

Hdf5 find_functions() noexcept {
    Hdf5 library;
    void* in = RTLD_NEXT;
    find(in, "H5Fcreate", library.create);
    char path[PATH_MAX] = "";
    if (!library.create && dl_iterate_phdr(find_library, path) != 0 &&
        (in = dlopen(path, RTLD_LAZY | RTLD_NOLOAD)) != nullptr)
        find(in, "H5Fcreate", library.create);
    if (!library.create)
        return library;
    find(in, "H5Pcopy", library.copy);
    find(in, "H5Pclose", library.close);
    find(in, "H5Pget_driver", library.get_driver);
    find(in, "H5FD_mpio_init", library.mpio_driver);
    find(in, "H5Pget_alignment", library.get_alignment);
    find(in, "H5Pset_alignment", library.set_alignment);
    find(in, "H5Pset_coll_metadata_write", library.set_collective_writes);
    return library;
}

/// A copy of access properties that arranges the file; 0, which is none, where they stay as they are.
Id arranged(const Hdf5& hdf5, const Options& options, Id access) noexcept {
    if (access <= 0 || !hdf5.is_parallel() || hdf5.get_driver(access) != hdf5.mpio_driver())
        return 0;
    const Id copy = hdf5.copy(access);
    if (copy <= 0)
        return 0;
    const uint64_t wanted = uint64_t(options.hdf5_alignment_kib) << 10;
    uint64_t threshold = 0, alignment = 0;
    if (wanted > 0 && hdf5.get_alignment(copy, &threshold, &alignment) >= 0 && alignment <= 1)
        hdf5.set_alignment(copy, wanted, wanted);
    if (options.hdf5_collective_metadata)
        hdf5.set_collective_writes(copy, true);
    return copy;
}

}  // namespace

bool arranges_hdf5() noexcept {
    const Options options = read_options();
    return options.hdf5_alignment_kib > 0 || options.hdf5_collective_metadata;
}

}  // namespace mpiric::layouts

extern "C" [[gnu::visibility("default")]] int64_t H5Fcreate(const char* name, unsigned flags,
                                                            int64_t creation, int64_t access) {
    using namespace mpiric::layouts;
    static const Hdf5 hdf5 = find_functions();
    if (!hdf5.create)
        return -1;
    const Id own = arranges_hdf5() ? arranged(hdf5, mpiric::read_options(), access) : 0;
    const Id made = hdf5.create(name, flags, creation, own ? own : access);
    if (own) {
        const int error = errno;
        hdf5.close(own);
        errno = error;
    }
    return made;
}

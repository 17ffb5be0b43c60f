#include "wrap/exports.hpp"

#include "world/library.hpp"
#include "wrap/library_file.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace mpiric::wrap {
namespace {

struct Symbols {
    ElfW(Sym) * table = nullptr;
    const char* names = nullptr;
    uint32_t count = 0;
};

/// The dynamic symbols of the object that contains this function.
int own_symbols(dl_phdr_info* object, size_t, void* result) {
    const auto here = reinterpret_cast<ElfW(Addr)>(&own_symbols);
    const ElfW(Dyn)* dynamic = nullptr;
    bool own = false;
    for (int at = 0; at < object->dlpi_phnum; ++at) {
        const ElfW(Phdr) & header = object->dlpi_phdr[at];
        const ElfW(Addr) begin = object->dlpi_addr + header.p_vaddr;
        if (header.p_type == PT_LOAD && here >= begin && here < begin + header.p_memsz)
            own = true;
        if (header.p_type == PT_DYNAMIC)
            dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
    }
    if (!own || !dynamic)
        return 0;
    Symbols& symbols = *static_cast<Symbols*>(result);
    for (; dynamic->d_tag != DT_NULL; ++dynamic) {
        // glibc has added the load address to these entries already.
        if (dynamic->d_tag == DT_SYMTAB)
            symbols.table = reinterpret_cast<ElfW(Sym)*>(dynamic->d_un.d_ptr);
        if (dynamic->d_tag == DT_STRTAB)
            symbols.names = reinterpret_cast<const char*>(dynamic->d_un.d_ptr);
        if (dynamic->d_tag == DT_HASH)
            symbols.count = reinterpret_cast<const uint32_t*>(dynamic->d_un.d_ptr)[1];
    }
    return 1;
}

bool make_writable(const Symbols& symbols) noexcept {
    const auto page = uintptr_t(sysconf(_SC_PAGESIZE));
    const uintptr_t begin = reinterpret_cast<uintptr_t>(symbols.table) & ~(page - 1);
    const uintptr_t end = reinterpret_cast<uintptr_t>(symbols.table + symbols.count);
    return mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) == 0;
}

/// Makes every MPI name for which `lacks` holds invisible to later look-ups.
template <class Lacks> void hide(Lacks&& lacks) noexcept {
    Symbols symbols;
    dl_iterate_phdr(own_symbols, &symbols);
    if (!symbols.table || !symbols.names)
        return;
    bool writable = false;
    for (uint32_t at = 0; at < symbols.count; ++at) {
        ElfW(Sym) & symbol = symbols.table[at];
        const char* name = symbols.names + symbol.st_name;
        const char* plain = *name == 'P' ? name + 1 : name;
        if (symbol.st_shndx == SHN_UNDEF || std::strncmp(plain, "MPI_", 4) != 0 || !lacks(name, plain))
            continue;
        if (!writable && !(writable = make_writable(symbols)))
            return;
        // The dynamic linker does not see local symbols; the code stays where callers bound to it find it.
        symbol.st_info = uint8_t(ELF64_ST_INFO(STB_LOCAL, ELF64_ST_TYPE(symbol.st_info)));
    }
}

constexpr std::string_view recent[] = {
#include "wrap/generated/recent.inc"
};

/// Nothing of MPI is loaded yet, and what will be binds its weak references before any of our code runs
/// again. So the answer must be right now: from the file the launch names, or, without one, only what every
/// library has stays visible.
void hide_before_opening() noexcept {
    const char* path = std::getenv("MPIRIC_LIBRARY");
    const LibraryFile library(path ? path : "");
    if (library.readable())
        hide([&](const char* name, const char*) { return !library.defines(name); });
    else
        hide([](const char*, const char* plain) {
            return std::binary_search(std::begin(recent), std::end(recent), std::string_view(plain));
        });
}

}  // namespace

void hide_missing() noexcept {
    static bool done = false;
    if (done || !world::find("PMPI_Init"))
        return;
    done = true;
    hide([](const char* name, const char*) { return !world::find(name); });
}

namespace {

[[gnu::constructor]] void at_load() {
    if (world::find_linked("PMPI_Init"))
        hide_missing();
    else
        hide_before_opening();
}

}  // namespace
}  // namespace mpiric::wrap

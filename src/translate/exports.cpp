#include "exports.hpp"

#include "base/elf_file.hpp"

#include <cstring>
#include <link.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <unordered_set>

namespace mpiric::translate {
namespace {

using Names = std::unordered_set<std::string_view>;

bool is_mpi(const char* name) {
    const char* plain = name + (*name == 'P');
    return std::strncmp(plain, "MPI_", 4) == 0 || std::strncmp(plain, "MPIX_", 5) == 0;
}

struct Symbols {
    ElfW(Sym) * table = nullptr;
    const char* names = nullptr;
    std::size_t count = 0;      // 0: not said
    std::size_t undefined = 0;  // number of leading symbols that the object itself does not define
};

Symbols symbols_of(const dl_phdr_info& object) {
    Symbols symbols;
    const ElfW(Dyn)* dynamic = nullptr;
    for (int at = 0; at < object.dlpi_phnum; ++at)
        if (object.dlpi_phdr[at].p_type == PT_DYNAMIC)
            dynamic = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[at].p_vaddr);
    for (; dynamic && dynamic->d_tag != DT_NULL; ++dynamic) {
        const auto address = dynamic->d_un.d_ptr;
        if (address < object.dlpi_addr)
            continue;  // glibc adds the load address to those below, but not in the kernel's own object
        if (dynamic->d_tag == DT_SYMTAB)
            symbols.table = reinterpret_cast<ElfW(Sym)*>(address);
        if (dynamic->d_tag == DT_STRTAB)
            symbols.names = reinterpret_cast<const char*>(address);
        if (dynamic->d_tag == DT_HASH)
            symbols.count = reinterpret_cast<const std::uint32_t*>(address)[1];
        if (dynamic->d_tag == DT_GNU_HASH)
            symbols.undefined = reinterpret_cast<const std::uint32_t*>(address)[1];
    }
    if (!symbols.undefined)
        symbols.undefined = symbols.count;
    return symbols;
}

int collect_needed(dl_phdr_info* object, std::size_t, void* result) {
    const Symbols symbols = symbols_of(*object);
    for (std::size_t at = 0; symbols.table && symbols.names && at < symbols.undefined; ++at) {
        const ElfW(Sym) & symbol = symbols.table[at];
        const char* name = symbols.names + symbol.st_name;
        if (symbol.st_shndx == SHN_UNDEF && ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL && is_mpi(name))
            static_cast<Names*>(result)->insert(name);
    }
    return 0;
}

/// Names that the loaded objects need when this is first called.
const Names& needed_names() {
    static const Names& needed = *[] {
        auto* names = new Names;
        dl_iterate_phdr(collect_needed, names);
        return names;
    }();
    return needed;
}

int find_own(dl_phdr_info* object, std::size_t, void* result) {
    const auto own = reinterpret_cast<ElfW(Addr)>(&find_own);
    for (int at = 0; at < object->dlpi_phnum; ++at) {
        const ElfW(Phdr) & header = object->dlpi_phdr[at];
        const ElfW(Addr) begin = object->dlpi_addr + header.p_vaddr;
        if (header.p_type == PT_LOAD && own >= begin && own < begin + header.p_memsz) {
            *static_cast<Symbols*>(result) = symbols_of(*object);
            return 1;
        }
    }
    return 0;
}

/// The MPI functions that a shared library defines; none when it cannot be read.
Names defined_in(const ElfFile& library) {
    Names names;
    library.any<Elf64_Sym>(SHT_DYNSYM, [&](const Elf64_Sym& symbol, auto&& text) {
        if (const char* name = text(symbol.st_name); symbol.st_shndx != SHN_UNDEF && is_mpi(name))
            names.insert(name);
        return false;
    });
    return names;
}

}  // namespace

bool is_needed(std::string_view prefix, std::string_view name) {
    return needed_names().contains(std::string(prefix).append(name));
}

void hide_what_is_lacking(const char* library, Answer (*answer_of)(const char* name)) {
    const ElfFile file(library);
    const Names defined = defined_in(file);
    if (defined.empty())
        return;
    const Names& needed = needed_names();
    Symbols own;
    dl_iterate_phdr(find_own, &own);
    const auto page = std::uintptr_t(sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<std::uintptr_t>(own.table) & ~(page - 1);
    const auto end = reinterpret_cast<std::uintptr_t>(own.table + own.count);
    if (!own.table || mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) != 0)
        return;
    for (std::size_t at = 0; at < own.count; ++at) {
        ElfW(Sym) & symbol = own.table[at];
        const char* name = own.names + symbol.st_name;
        if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || !is_mpi(name))
            continue;
        const char* plain = name + (*name == 'P');
        // Refused functions stay: programs expect every library to have them, and a call reports the reason.
        const bool is_served = answer_of(plain) != Answer::library || defined.contains(plain) ||
                               (has_form_of_extension(plain) && defined.contains(extension(plain)));
        // A local symbol is invisible to the dynamic linker; existing bindings stay.
        if (!is_served && !needed.contains(name) && std::strstr(name, "_FN") == nullptr)
            symbol.st_info = std::uint8_t(ELF64_ST_INFO(STB_LOCAL, ELF64_ST_TYPE(symbol.st_info)));
    }
    mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ);
}

}  // namespace mpiric::translate

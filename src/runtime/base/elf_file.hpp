// Shared libraries: read from a file, which need not be loaded, and the dynamic symbols of a loaded one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpiric {

/// A mapped file; without sections when it cannot be read or is not an ELF file of 64 bits.
class ElfFile {
  public:
    explicit ElfFile(const char* path) noexcept {
        // System calls: the names of libc may lead to our own wrappers.
        const int file = int(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
        if (file < 0)
            return;
        struct stat status{};
        const bool is_readable = fstat(file, &status) == 0 && status.st_size >= long(sizeof(Elf64_Ehdr));
        void* at =
            is_readable ? mmap(nullptr, size_t(status.st_size), PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
        syscall(SYS_close, file);
        if (at == MAP_FAILED)
            return;
        data_ = static_cast<const char*>(at);
        bytes_ = size_t(status.st_size);
        const auto* head = reinterpret_cast<const Elf64_Ehdr*>(data_);
        if (std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 ||
            head->e_shoff > bytes_ || head->e_shnum * sizeof(Elf64_Shdr) > bytes_ - head->e_shoff)
            return;
        sections_ = reinterpret_cast<const Elf64_Shdr*>(data_ + head->e_shoff);
        section_count_ = head->e_shnum;
    }
    ~ElfFile() {
        if (data_)
            munmap(const_cast<char*>(data_), bytes_);
    }
    ElfFile(const ElfFile&) = delete;
    ElfFile& operator=(const ElfFile&) = delete;

    /// Whether `is(entry, text)` holds for an entry of the sections of a type; stops there. `text(number)` is
    /// the string at an offset in the section's string table, valid as long as the file.
    template <class Entry, class Is> bool any(unsigned type, Is&& is) const {
        for (size_t which = 0; which < section_count_; ++which) {
            const Elf64_Shdr& section = sections_[which];
            if (section.sh_type != type || section.sh_link >= section_count_ || !is_inside(section))
                continue;
            const Elf64_Shdr& strings = sections_[section.sh_link];
            if (!is_inside(strings) || strings.sh_size == 0 ||
                data_[strings.sh_offset + strings.sh_size - 1] != '\0')
                continue;
            const auto text = [&](size_t at) {
                return at < strings.sh_size ? data_ + strings.sh_offset + at : "";
            };
            const auto* entry = reinterpret_cast<const Entry*>(data_ + section.sh_offset);
            for (size_t left = section.sh_size / sizeof(Entry); left > 0; --left, ++entry)
                if (is(*entry, text))
                    return true;
        }
        return false;
    }

  private:
    bool is_inside(const Elf64_Shdr& section) const noexcept {
        return section.sh_offset <= bytes_ && section.sh_size <= bytes_ - section.sh_offset;
    }

    const char* data_ = nullptr;
    size_t bytes_ = 0;
    const Elf64_Shdr* sections_ = nullptr;
    size_t section_count_ = 0;
};

/// The dynamic symbols of a loaded object.
struct DynamicSymbols {
    ElfW(Sym) * table = nullptr;
    const char* names = nullptr;
    size_t count = 0;      ///< 0: not said
    size_t undefined = 0;  ///< number of leading symbols that the object itself does not define

    /// Changes what may be done with the memory of the table.
    bool protect(int protection) const noexcept {
        const auto page = uintptr_t(sysconf(_SC_PAGESIZE));
        const uintptr_t begin = reinterpret_cast<uintptr_t>(table) & ~(page - 1);
        const auto end = reinterpret_cast<uintptr_t>(table + count);
        return mprotect(reinterpret_cast<void*>(begin), end - begin, protection) == 0;
    }
};

inline DynamicSymbols symbols_of(const dl_phdr_info& object) noexcept {
    DynamicSymbols symbols;
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
            symbols.count = reinterpret_cast<const uint32_t*>(address)[1];
        if (dynamic->d_tag == DT_GNU_HASH)
            symbols.undefined = reinterpret_cast<const uint32_t*>(address)[1];
    }
    if (!symbols.undefined)
        symbols.undefined = symbols.count;
    return symbols;
}

/// The symbols of the object that contains this function.
inline DynamicSymbols own_symbols() noexcept {
    DynamicSymbols symbols;
    const auto find = [](dl_phdr_info* object, size_t, void* result) {
        const auto own = reinterpret_cast<ElfW(Addr)>(&own_symbols);
        for (int at = 0; at < object->dlpi_phnum; ++at) {
            const ElfW(Phdr) & header = object->dlpi_phdr[at];
            const ElfW(Addr) begin = object->dlpi_addr + header.p_vaddr;
            if (header.p_type != PT_LOAD || own < begin || own >= begin + header.p_memsz)
                continue;
            *static_cast<DynamicSymbols*>(result) = symbols_of(*object);
            return 1;
        }
        return 0;
    };
    dl_iterate_phdr(find, &symbols);
    return symbols;
}

}  // namespace mpiric

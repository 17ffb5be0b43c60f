#include "symbols/library_file.hpp"

#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpiric::symbols {

LibraryFile::LibraryFile(const char* path) noexcept {
    const int file = int(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
    if (file < 0)
        return;
    struct stat status{};
    if (fstat(file, &status) == 0 && status.st_size > long(sizeof(Elf64_Ehdr))) {
        void* at = mmap(nullptr, size_t(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
        if (at != MAP_FAILED) {
            file_ = static_cast<const std::byte*>(at);
            bytes_ = size_t(status.st_size);
        }
    }
    syscall(SYS_close, file);
    const auto* head = reinterpret_cast<const Elf64_Ehdr*>(file_);
    if (!file_ || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 ||
        head->e_shoff > bytes_ || size_t(head->e_shnum) * sizeof(Elf64_Shdr) > bytes_ - head->e_shoff)
        return;
    const auto* sections = reinterpret_cast<const Elf64_Shdr*>(file_ + head->e_shoff);
    auto inside = [&](const Elf64_Shdr& section) {
        return section.sh_offset <= bytes_ && section.sh_size <= bytes_ - section.sh_offset;
    };
    for (int at = 0; at < head->e_shnum; ++at) {
        const Elf64_Shdr& section = sections[at];
        if (section.sh_type == SHT_DYNAMIC && inside(section)) {
            dynamic_ = file_ + section.sh_offset;
            dynamic_count_ = section.sh_size / sizeof(Elf64_Dyn);
        }
        if (section.sh_type != SHT_DYNSYM || section.sh_link >= head->e_shnum || !inside(section))
            continue;
        const Elf64_Shdr& text = sections[section.sh_link];
        if (!inside(text) || text.sh_size == 0 || file_[text.sh_offset + text.sh_size - 1] != std::byte{0})
            continue;
        names_ = reinterpret_cast<const char*>(file_ + text.sh_offset);
        names_bytes_ = text.sh_size;
        symbols_ = file_ + section.sh_offset;
        count_ = section.sh_size / sizeof(Elf64_Sym);
    }
}

LibraryFile::~LibraryFile() {
    if (file_)
        munmap(const_cast<std::byte*>(file_), bytes_);
}

bool LibraryFile::defines(const char* name) const noexcept {
    const auto* symbols = static_cast<const Elf64_Sym*>(symbols_);
    for (size_t at = 0; at < count_; ++at)
        if (symbols[at].st_shndx != SHN_UNDEF && symbols[at].st_name < names_bytes_ &&
            std::strcmp(names_ + symbols[at].st_name, name) == 0)
            return true;
    return false;
}

bool LibraryFile::refers_strongly(const char* name) const noexcept {
    const auto* symbols = static_cast<const Elf64_Sym*>(symbols_);
    for (size_t at = 0; at < count_; ++at)
        if (symbols[at].st_shndx == SHN_UNDEF && ELF64_ST_BIND(symbols[at].st_info) == STB_GLOBAL &&
            symbols[at].st_name < names_bytes_ && std::strcmp(names_ + symbols[at].st_name, name) == 0)
            return true;
    return false;
}

const char* LibraryFile::needs(const char* beginning) const noexcept {
    const auto* entries = static_cast<const Elf64_Dyn*>(dynamic_);
    for (size_t at = 0; at < dynamic_count_ && entries[at].d_tag != DT_NULL; ++at)
        if (entries[at].d_tag == DT_NEEDED && entries[at].d_un.d_val < names_bytes_ &&
            std::strncmp(names_ + entries[at].d_un.d_val, beginning, std::strlen(beginning)) == 0)
            return names_ + entries[at].d_un.d_val;
    return nullptr;
}

bool LibraryFile::has_rpath() const noexcept {
    const auto* entries = static_cast<const Elf64_Dyn*>(dynamic_);
    for (size_t at = 0; at < dynamic_count_ && entries[at].d_tag != DT_NULL; ++at)
        if (entries[at].d_tag == DT_RPATH)
            return true;
    return false;
}

}  // namespace mpiric::symbols

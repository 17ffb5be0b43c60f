// A shared library, read from its file: it need not be loaded.
#pragma once

#include <cstddef>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
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

}  // namespace mpiric

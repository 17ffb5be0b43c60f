#include "elf_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mpiric::translate {

ElfFile::ElfFile(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    struct stat status{};
    const bool is_readable = fstat(file, &status) == 0 && status.st_size >= long(sizeof(Elf64_Ehdr));
    void* at = is_readable ? mmap(nullptr, std::size_t(status.st_size), PROT_READ, MAP_PRIVATE, file, 0)
                           : MAP_FAILED;
    close(file);
    if (at == MAP_FAILED)
        return;
    data_ = static_cast<const char*>(at);
    bytes_ = std::size_t(status.st_size);
    const auto* head = reinterpret_cast<const Elf64_Ehdr*>(data_);
    if (std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 ||
        head->e_shoff > bytes_ || head->e_shnum * sizeof(Elf64_Shdr) > bytes_ - head->e_shoff)
        return;
    sections_ = reinterpret_cast<const Elf64_Shdr*>(data_ + head->e_shoff);
    section_count_ = head->e_shnum;
}

}  // namespace mpiric::translate

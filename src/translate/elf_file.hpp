// The sections of a shared library's file.
#pragma once

#include <cstddef>
#include <cstring>
#include <elf.h>

namespace mpiric::translate {

/// A file, mapped for as long as the process lives; without sections when it cannot be read or is not an ELF
/// file.
class ElfFile {
  public:
    explicit ElfFile(const char* path);

    /// Calls `each` with every entry of the sections of a type, and the text that a number in it leads to.
    template <class Entry, class Each> void entries(unsigned type, Each&& each) const {
        for (std::size_t which = 0; which < section_count_; ++which) {
            const Elf64_Shdr& section = sections_[which];
            if (section.sh_type != type || section.sh_link >= section_count_ || !is_inside(section))
                continue;
            const Elf64_Shdr& strings = sections_[section.sh_link];
            if (!is_inside(strings) || strings.sh_size == 0 ||
                data_[strings.sh_offset + strings.sh_size - 1] != '\0')
                continue;
            const auto text = [&](std::size_t at) {
                return at < strings.sh_size ? data_ + strings.sh_offset + at : "";
            };
            const auto* entry = reinterpret_cast<const Entry*>(data_ + section.sh_offset);
            for (std::size_t left = section.sh_size / sizeof(Entry); left > 0; --left, ++entry)
                each(*entry, text);
        }
    }

  private:
    bool is_inside(const Elf64_Shdr& section) const {
        return section.sh_offset <= bytes_ && section.sh_size <= bytes_ - section.sh_offset;
    }

    const char* data_ = nullptr;
    std::size_t bytes_ = 0;
    const Elf64_Shdr* sections_ = nullptr;
    std::size_t section_count_ = 0;
};

}  // namespace mpiric::translate

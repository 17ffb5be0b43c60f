#include "fat_object.hpp"

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <string_view>

namespace mpiric::front {
namespace {

constexpr std::uint16_t most_sections = 0xff00 - 64;  // beyond, their number stands elsewhere: left to Python
constexpr std::string_view magic{"MPIRIC\0"
                                 "1",
                                 8};

template <typename T> T at(const std::string& data, std::uint64_t offset) {
    T value{};
    if (offset + sizeof(T) <= data.size())
        std::memcpy(&value, data.data() + offset, sizeof(T));
    return value;
}

template <typename T> void append(std::string& out, const T& value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out.append(bytes, sizeof(T));
}

void pad(std::string& out) { out.append((8 - out.size() % 8) % 8, '\0'); }

std::vector<Elf64_Shdr> sections_of(const std::string& data) {
    const auto header = at<Elf64_Ehdr>(data, 0);
    std::vector<Elf64_Shdr> sections;
    sections.reserve(header.e_shnum);
    for (unsigned i = 0; i < header.e_shnum; ++i)
        sections.push_back(at<Elf64_Shdr>(data, header.e_shoff + i * sizeof(Elf64_Shdr)));
    return sections;
}

bool has_ifunc(const std::string& data, const Elf64_Shdr& table) {
    for (std::uint64_t offset = 0; offset + sizeof(Elf64_Sym) <= table.sh_size; offset += sizeof(Elf64_Sym))
        if (ELF64_ST_TYPE(at<Elf64_Sym>(data, table.sh_offset + offset).st_info) == STT_GNU_IFUNC)
            return true;
    return false;
}

}  // namespace

std::string payload(const std::string& description, const std::string& object) {
    std::string out{magic};
    append(out, static_cast<std::uint32_t>(description.size()));
    append(out, static_cast<std::uint32_t>(object.size()));
    out += description;
    out += object;
    pad(out);
    return out;
}

bool can_carry(const std::string& object) {
    constexpr std::string_view elf64_little{"\x7f"
                                            "ELF\x02\x01",
                                            6};
    if (!object.starts_with(elf64_little))
        return false;
    const auto header = at<Elf64_Ehdr>(object, 0);
    if (header.e_type != ET_REL || header.e_shnum == 0 || header.e_shnum > most_sections)
        return false;
    if (header.e_shstrndx >= header.e_shnum || header.e_shentsize != sizeof(Elf64_Shdr))
        return false;
    for (const auto& section : sections_of(object)) {
        if (section.sh_type != SHT_NOBITS && section.sh_offset + section.sh_size > object.size())
            return false;
        if (section.sh_type == SHT_SYMTAB && has_ifunc(object, section))
            return false;
    }
    return true;
}

std::string with_sections(const std::string& object, const std::vector<Section>& added) {
    auto header = at<Elf64_Ehdr>(object, 0);
    auto sections = sections_of(object);
    auto& names_section = sections[header.e_shstrndx];
    std::string names = object.substr(names_section.sh_offset, names_section.sh_size);
    std::vector<Elf64_Shdr> fresh;
    for (const auto& section : added) {
        Elf64_Shdr entry{};
        entry.sh_name = static_cast<Elf64_Word>(names.size());
        entry.sh_type = SHT_PROGBITS;
        entry.sh_flags = SHF_EXCLUDE;
        entry.sh_addralign = 8;
        fresh.push_back(entry);
        names += section.name + '\0';
    }
    std::string out = object;
    const auto place = [&out](Elf64_Shdr& entry, const std::string& contents) {
        pad(out);
        entry.sh_offset = out.size();
        entry.sh_size = contents.size();
        out += contents;
    };
    place(names_section, names);
    for (std::size_t i = 0; i < added.size(); ++i)
        place(fresh[i], added[i].contents);
    pad(out);
    header.e_shoff = out.size();
    for (const auto& list : {sections, fresh})
        for (const auto& entry : list)
            append(out, entry);
    header.e_shnum = static_cast<Elf64_Half>(sections.size() + fresh.size());
    std::memcpy(out.data(), &header, sizeof header);
    return out;
}

}  // namespace mpiric::front

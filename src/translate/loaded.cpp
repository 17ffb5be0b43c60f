#include "loaded.hpp"

#include "base/elf_file.hpp"

#include <climits>
#include <cstdlib>
#include <dlfcn.h>
#include <unordered_set>
#include <vector>

namespace mpiric::translate {
namespace {

using Names = std::unordered_set<std::string_view>;

bool is_mpi(const char* name) {
    const char* plain = name + (*name == 'P');
    return std::strncmp(plain, "MPI_", 4) == 0 || std::strncmp(plain, "MPIX_", 5) == 0;
}

int collect_needed(dl_phdr_info* object, std::size_t, void* result) {
    const DynamicSymbols symbols = symbols_of(*object);
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

constexpr int deepest = 8;  // depth of nested dependencies

/// The directories of a search path, with `$ORIGIN` as the library's own.
std::vector<std::string> directories(const std::string& path, const std::string& origin) {
    std::vector<std::string> found;
    for (std::size_t begin = 0; begin < path.size();) {
        const std::size_t end = std::min(path.find(':', begin), path.size());
        std::string directory = path.substr(begin, end - begin);
        for (const std::string_view word : {"${ORIGIN}", "$ORIGIN"})
            if (const auto at = directory.find(word); at != std::string::npos)
                directory.replace(at, word.size(), origin);
        found.push_back(std::move(directory));
        begin = end + 1;
    }
    return found;
}

/// The string of the `place`-th entry with a tag in a loaded object's dynamic section, or null.
const char* dynamic_string(const link_map& object, ElfW(Sxword) tag, unsigned place) {
    const char* names = nullptr;
    for (const ElfW(Dyn)* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry)
        if (entry->d_tag == DT_STRTAB)
            names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    for (const ElfW(Dyn)* entry = object.l_ld; names && entry->d_tag != DT_NULL; ++entry)
        if (entry->d_tag == tag && place-- == 0)
            return names + entry->d_un.d_val;
    return nullptr;
}

/// Whether the object that holds a function is linked to a library.
bool is_linked_to(void* opened, void* function) {
    Dl_info where;
    link_map *object = nullptr, *library = nullptr;
    if (!dladdr1(function, &where, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) ||
        dlinfo(opened, RTLD_DI_LINKMAP, static_cast<void*>(&library)) != 0)
        return false;
    const char* soname = dynamic_string(*library, DT_SONAME, 0);
    unsigned place = 0;
    while (const char* needed = soname ? dynamic_string(*object, DT_NEEDED, place++) : nullptr)
        if (std::strcmp(needed, soname) == 0)
            return true;
    return false;
}

/// A tool's function of a name: one behind the stand-in in the look-up order. Null where that is an MPI
/// library, or the runtime, which takes its place by itself.
void* tool_behind(const char* name) {
    if (!needed_names().contains(std::string("P") + name))
        return nullptr;  // a tool calls the profiling names of the functions that it replaces
    void* tool = dlsym(RTLD_NEXT, name);
    void* others = dlsym(RTLD_NEXT, "PMPI_Init");
    Dl_info of_tool, of_others;
    const bool is_of_library = tool && others && dladdr(tool, &of_tool) && dladdr(others, &of_others) &&
                               of_tool.dli_fbase == of_others.dli_fbase;
    return is_of_library ? nullptr : tool;
}

}  // namespace

void hide_what_is_lacking(const char* library, Answer (*answer_of)(const char* name)) {
    const ElfFile file(library);
    const Names defined = defined_in(file);
    if (defined.empty())
        return;
    const Names& needed = needed_names();
    const DynamicSymbols own = own_symbols();
    if (!own.table || !own.protect(PROT_READ | PROT_WRITE))
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
    own.protect(PROT_READ);
}

void open_dependencies(const std::string& library, int depth) {
    char real[PATH_MAX];
    if (depth > deepest || !realpath(library.c_str(), real))
        return;
    std::vector<std::string> needed;
    std::string path;
    ElfFile(real).any<Elf64_Dyn>(SHT_DYNAMIC, [&](const Elf64_Dyn& entry, auto&& text) {
        if (entry.d_tag == DT_NEEDED)
            needed.emplace_back(text(entry.d_un.d_val));
        if (entry.d_tag == DT_RUNPATH || (entry.d_tag == DT_RPATH && path.empty()))
            path = text(entry.d_un.d_val);
        return false;
    });
    const std::string origin = std::string(real).substr(0, std::string(real).rfind('/'));
    for (const std::string& name : needed)
        for (const std::string& directory : directories(path, origin)) {
            const std::string file = std::string(directory).append("/").append(name);
            if (directory.empty() || access(file.c_str(), R_OK) != 0)
                continue;
            if (!dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
                open_dependencies(file, depth + 1);
                dlopen(file.c_str(),
                       RTLD_LAZY | RTLD_LOCAL);  // if it fails, opening the library itself reports the reason
            }
            break;
        }
}

void* tool_above(void* opened, const char* name) {
    void* tool = tool_behind(name);
    return tool && !is_linked_to(opened, tool) ? tool : nullptr;
}

void* tool_below(void* opened, const char* name) {
    void* tool = tool_behind(name);
    return tool && is_linked_to(opened, tool) ? tool : nullptr;
}

}  // namespace mpiric::translate

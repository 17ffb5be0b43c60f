#include "dependencies.hpp"

#include "base/elf_file.hpp"

#include <climits>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>
#include <vector>

namespace mpiric::translate {
namespace {

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

}  // namespace

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

}  // namespace mpiric::translate

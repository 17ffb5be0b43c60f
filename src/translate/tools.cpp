#include "tools.hpp"

#include "exports.hpp"

#include <cstring>
#include <dlfcn.h>
#include <link.h>

namespace mpiric::translate {
namespace {

/// The string of the `place`-th entry with a tag in a loaded object's dynamic section; null when there are
/// fewer entries.
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
    if (!is_needed("P", name))
        return nullptr;  // a tool calls the profiling names of the functions that it replaces
    void* tool = dlsym(RTLD_NEXT, name);
    void* others = dlsym(RTLD_NEXT, "PMPI_Init");
    Dl_info of_tool, of_others;
    const bool is_of_library = tool && others && dladdr(tool, &of_tool) && dladdr(others, &of_others) &&
                               of_tool.dli_fbase == of_others.dli_fbase;
    return is_of_library ? nullptr : tool;
}

}  // namespace

void* tool_above(void* opened, const char* name) {
    void* tool = tool_behind(name);
    return tool && !is_linked_to(opened, tool) ? tool : nullptr;
}

void* tool_below(void* opened, const char* name) {
    void* tool = tool_behind(name);
    return tool && is_linked_to(opened, tool) ? tool : nullptr;
}

}  // namespace mpiric::translate

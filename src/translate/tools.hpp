// Tools (PMPI) of the process: tools for the program's types, and tools for the types of the library
// underneath.
#pragma once

namespace mpiric::translate {

/// The tool that gets the program's calls of a name, with its types: it had been in front of the program's
/// library. Null without one.
void* tool_above(void* opened, const char* name);
/// The tool that gets the translated calls: it is linked to a library of the other family, which `opened`
/// leads to.
void* tool_below(void* opened, const char* name);

}  // namespace mpiric::translate

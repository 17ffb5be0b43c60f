// What a process can tell of itself, and how it is written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mpiric::probes {

// Hardware threads (OS indices) this thread may run on, ascending.
std::vector<int> allowed_pus();

// Binds the calling thread to one hardware thread; false when the system refuses.
bool bind_to_pu(int pu);

// NUMA nodes this process may take memory from, as the kernel writes them ("0-1"); "" when it does not say.
std::string allowed_memory_nodes();

std::string host_name();

// A JSON string, quotes included.
std::string json_text(std::string_view text);

// A JSON array of numbers.
std::string json_numbers(const std::vector<int>& numbers);

}  // namespace mpiric::probes

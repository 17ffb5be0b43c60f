// Facts that a process can find out about itself, and their JSON form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mpiric::probes {

// Hardware threads (OS indices) on which this thread may run, ascending.
std::vector<int> allowed_pus();

// Binds the calling thread to one hardware thread; false if the system rejects it.
bool bind_to_pu(int pu);

// NUMA nodes from which this process may allocate memory, in the kernel's form ("0-1"); "" if unknown.
std::string allowed_memory_nodes();

std::string host_name();

// A JSON string with its quotes.
std::string json_text(std::string_view text);

// A JSON array of numbers.
std::string json_numbers(const std::vector<int>& numbers);

}  // namespace mpiric::probes

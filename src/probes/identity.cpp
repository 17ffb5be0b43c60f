#include "probe_mpi.hpp"
#include "process.hpp"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>
#include <string>

namespace mpiric::probes {
namespace {

// File of the library that serves MPI calls. PMPI_ is used because a preloaded tool may define the MPI_ name.
std::string library_path() {
    Dl_info found{};
    char resolved[PATH_MAX];
    void* const address = dlsym(RTLD_DEFAULT, "PMPI_Init");
    if (address == nullptr || dladdr(address, &found) == 0 ||
        realpath(found.dli_fname, resolved) == nullptr) {
        return "";
    }
    return resolved;
}

std::string standard_version() {
    int major = 0;
    int minor = 0;
    MPI_Get_version(&major, &minor);
    return std::to_string(major) + '.' + std::to_string(minor);
}

const char* name_of(int thread_level) {
    // The values of the levels differ between families and are not always constants, so switch is impossible.
    if (thread_level == MPI_THREAD_MULTIPLE) {
        return "multiple";
    }
    if (thread_level == MPI_THREAD_SERIALIZED) {
        return "serialized";
    }
    return thread_level == MPI_THREAD_FUNNELED ? "funneled" : "single";
}

std::string place() {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return "\"rank\":" + std::to_string(rank) + ",\"size\":" + std::to_string(size) +
           ",\"host\":" + json_text(host_name()) + ",\"pus\":" + json_numbers(allowed_pus()) +
           ",\"pu_now\":" + std::to_string(sched_getcpu()) +
           ",\"memory_nodes\":" + json_text(allowed_memory_nodes());
}

}  // namespace

// The first line has name and version. MPICH appends its configuration, and Open MPI includes the null byte
// in the length.
std::string library_version() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string whole = text;
    return whole.substr(0, whole.find('\n'));
}

int print_in_order(const std::string& line) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int length = static_cast<int>(line.size());
    if (rank != 0) {
        MPI_Send(&length, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Send(line.data(), length, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        return EXIT_SUCCESS;
    }
    std::puts(line.c_str());
    for (int source = 1; source < size; ++source) {
        int incoming = 0;
        MPI_Recv(&incoming, 1, MPI_INT, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        std::string other(static_cast<std::size_t>(incoming), ' ');
        MPI_Recv(other.data(), incoming, MPI_CHAR, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        std::puts(other.c_str());
    }
    return EXIT_SUCCESS;
}

int print_identity(int thread_level) {
    return print_in_order('{' + place() + ",\"family\":" + json_text(MPIRIC_FAMILY) +
                          ",\"standard\":" + json_text(standard_version()) + ",\"thread_level\":" +
                          json_text(name_of(thread_level)) + ",\"libmpi\":" + json_text(library_path()) +
                          ",\"library\":" + json_text(library_version()) + '}');
}

int print_affinity() { return print_in_order('{' + place() + '}'); }

}  // namespace mpiric::probes

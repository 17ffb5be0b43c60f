// Names the run that this process belongs to, by variables and command lines of its launcher.
#include "system/process.hpp"

#include "base/hash.hpp"
#include "system/text.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace mpiric::system {
namespace {

/// Variables in which launchers name a run: PMIx, Open MPI 4, Intel MPI, PMI, PALS, ALPS, Flux, Slurm.
constexpr const char* run_variables[] = {"PMIX_NAMESPACE",   "OMPI_MCA_ess_base_jobid",
                                         "I_MPI_HYDRA_UUID", "HYDRA_BSTRAP_PGID",
                                         "PMI_KVSNAME",      "PALS_APID",
                                         "ALPS_APP_ID",      "FLUX_JOB_ID",
                                         "SLURM_JOB_ID",     "SLURM_STEP_ID"};
constexpr int most_ancestors = 16;

uint64_t parent_of(uint64_t pid) noexcept {
    char path[64], status[1024];
    std::snprintf(path, sizeof path, "/proc/%llu/status", static_cast<unsigned long long>(pid));
    read_file(path, status, sizeof status);
    return number_after(status, "PPid:");
}

/// MPICH's hydra has no name for a run in the environment, but its proxies have on their command lines.
bool take_nearest_proxy(uint64_t& hash) noexcept {
    uint64_t pid = uint64_t(getppid());
    for (int above = 0; pid > 1 && above < most_ancestors; ++above, pid = parent_of(pid)) {
        char path[64], words[4096];
        std::snprintf(path, sizeof path, "/proc/%llu/cmdline", static_cast<unsigned long long>(pid));
        if (take_proxy(words, read_file(path, words, sizeof words), hash))
            return true;
    }
    return false;
}

}  // namespace

bool take_proxy(const char* words, size_t length, uint64_t& hash) noexcept {
    const char* listens = nullptr;
    const char* world = "";
    const char* const end = words + length;
    for (const char* word = words; word < end;) {
        const char* value = word + std::strlen(word) + 1;
        if (value < end && std::strcmp(word, "--control-port") == 0)
            listens = value;
        else if (value < end && std::strcmp(word, "--pgid") == 0)
            world = value;
        word = value;
    }
    if (!listens)
        return false;
    hash = hash_text(hash_with(hash_text(hash, listens), 0), world);
    return true;
}

uint64_t job() noexcept {
    uint64_t hash = hash_basis;
    bool named = false;
    for (const char* name : run_variables)
        if (const char* value = std::getenv(name)) {
            hash = hash_text(hash, value);
            named = true;
        }
    if (std::getenv("PMI_FD") || std::getenv("PMI_PORT"))
        named = take_nearest_proxy(hash) || named;
    if (!named) {
        char host[65] = {};
        gethostname(host, sizeof host - 1);
        hash = hash_text(hash, host);
        hash ^= uint64_t(getppid()) * 0x9E3779B97F4A7C15ull;
    }
    return hash;
}

}  // namespace mpiric::system

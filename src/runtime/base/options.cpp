#include "base/options.hpp"

#include <cstdlib>
#include <cstring>

namespace mpiric {
namespace {

bool flag(const char* name, bool otherwise) noexcept {
    const char* value = std::getenv(name);
    if (!value || !*value)
        return otherwise;
    return std::strcmp(value, "0") != 0;
}

bool is(const char* name, const char* expected) noexcept {
    const char* value = std::getenv(name);
    return value && std::strcmp(value, expected) == 0;
}

uint32_t number(const char* name, uint32_t otherwise) noexcept {
    const char* value = std::getenv(name);
    if (!value || !*value)
        return otherwise;
    char* end = nullptr;
    const unsigned long read = std::strtoul(value, &end, 10);
    return *end || read > 1'000'000 ? otherwise : static_cast<uint32_t>(read);
}

const char* text(const char* name) noexcept {
    const char* value = std::getenv(name);
    return value ? value : "";
}

/// A part of a whole; empty: 0, which means no bound.
double part(const char* name, double otherwise) noexcept {
    const char* value = std::getenv(name);
    if (!value)
        return otherwise;
    char* end = nullptr;
    const double read = std::strtod(value, &end);
    return *end || !(read >= 0 && read <= 1) ? otherwise : read;
}

/// A time of the wall clock; 0: none.
double moment(const char* name) noexcept {
    const char* value = std::getenv(name);
    if (!value)
        return 0;
    char* end = nullptr;
    const double read = std::strtod(value, &end);
    return *end || !(read >= 0 && read < 1e11) ? 0 : read;
}

Collectives collectives() noexcept {
    if (is("MPIRIC_COLLECTIVES", "online"))
        return Collectives::online;
    if (is("MPIRIC_COLLECTIVES", "policy"))
        return Collectives::policy;
    const bool rotates = is("MPIRIC_COLLECTIVES", "rotate") || is("MPIRIC_COLLECTIVES", "restless");
    return rotates ? Collectives::rotate : Collectives::off;  // `restless`: its name before
}

}  // namespace

Options read_options() noexcept {
    Options options;
    if (const char* directory = std::getenv("MPIRIC_RECORD_DIR"))
        options.record_dir = directory;
    options.all_come_to_finalize = !flag("MPIR_CVAR_NO_COLLECTIVE_FINALIZE", false);  // MPICH's own
    options.merge = is("MPIRIC_MERGE", "tree") && options.all_come_to_finalize ? Merge::tree : Merge::never;
    options.regions = is("MPIRIC_REGIONS", "names") ? Regions::names : Regions::levels;
    options.unexpected = number("MPIRIC_UNEXPECTED", options.unexpected);
    options.imbalance = flag("MPIRIC_IMBALANCE", options.imbalance);
    options.flush_at_unix_s = moment("MPIRIC_FLUSH_AT");
    options.posix_io = flag("MPIRIC_POSIX_IO", options.posix_io);
    options.call_sites = flag("MPIRIC_CALL_SITES", options.call_sites);
    options.counters = flag("MPIRIC_COUNTERS", options.counters);
    options.collectives = collectives();
    options.policy = text("MPIRIC_POLICY");
    options.policy_out = text("MPIRIC_POLICY_OUT");
    options.learn_at_most = part("MPIRIC_LEARN_AT_MOST", options.learn_at_most);
    options.reprove = flag("MPIRIC_REPROVE", options.reprove);
    options.reproducible = flag("MPIRIC_REPRODUCIBLE", options.reproducible);
    options.learn_only = text("MPIRIC_LEARN_ONLY");
    options.learn_ranks = number("MPIRIC_LEARN_RANKS", options.learn_ranks);
    options.scratch_mib = number("MPIRIC_SCRATCH_MIB", options.scratch_mib);
    options.file_hints = text("MPIRIC_FILE_HINTS");
    options.file_layouts = text("MPIRIC_FILE_LAYOUTS");
    options.hdf5_alignment_kib = number("MPIRIC_HDF5_ALIGNMENT_KIB", options.hdf5_alignment_kib);
    options.hdf5_collective_metadata =
        flag("MPIRIC_HDF5_COLLECTIVE_METADATA", options.hdf5_collective_metadata);
    options.rank_order = text("MPIRIC_RANK_ORDER");
    options.honour_reorder = text("MPIRIC_HONOUR_REORDER");
    options.mark = text("MPIRIC_MARK");
    options.mark_out = *options.mark ? text("MPIRIC_MARK_OUT") : "";
    options.mark_end = flag("MPIRIC_MARK_END", options.mark_end);
    options.mark_ranks = is("MPIRIC_MARK_RANKS", "first") ? MarkRanks::first : MarkRanks::all;
    options.stdout_kib = number("MPIRIC_STDOUT_KIB", options.stdout_kib);
    options.stdio_kib = number("MPIRIC_STDIO_KIB", options.stdio_kib);
    options.write_behind_kib = number("MPIRIC_WRITE_BEHIND_KIB", options.write_behind_kib);
    options.late_ms = number("MPIRIC_LATE_MS", options.late_ms);
    return options;
}

}  // namespace mpiric

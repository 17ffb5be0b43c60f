// The runtime's options as spec/options.toml declares them, read once from the environment.
#pragma once

#include <cstdint>

namespace mpiric {

/// Who puts the ranks' records together.
enum class Merge : uint8_t { never, tree };

/// How MPI_Pcontrol bounds a region.
enum class Regions : uint8_t { levels, names };

/// Who chooses the algorithms of collectives.
enum class Collectives : uint8_t { off, online, policy, rotate };

/// Which ranks count the calls of a mark.
enum class MarkRanks : uint8_t { all, first };

struct Options {
    const char* record_dir = "";  ///< empty: nothing is recorded
    Merge merge = Merge::never;
    Regions regions = Regions::levels;
    uint32_t unexpected = 64;  ///< one receive in this many is probed before it is posted; 0: none
    bool imbalance = false;
    double flush_at_unix_s = 0;  ///< when what is buffered is written out; 0: never
    bool posix_io = true;
    bool call_sites = false;
    bool counters = true;
    Collectives collectives = Collectives::off;
    const char* policy = "";      ///< flat policy to read; empty: none
    const char* policy_out = "";  ///< learned policy to write; empty: none
    double learn_at_most = 0.01;  ///< part of the time in collectives; 0: no bound
    /// A choice of a policy or of learning is compared with the library's own algorithm again.
    bool reprove = true;
    bool reproducible = false;
    const char* learn_only = "";      ///< names of collectives; empty: all
    uint32_t learn_ranks = 2;         ///< communicators of fewer ranks are not learned
    uint32_t scratch_mib = 64;        ///< MiB that one of our algorithms may allocate on a rank
    const char* file_hints = "";      ///< hints added to MPI_File_open; empty: only the program's own
    const char* file_layouts = "";    ///< layouts of new files; empty: the directory's layout
    uint32_t hdf5_alignment_kib = 0;  ///< alignment of objects in parallel HDF5 files; 0: the program's own
    bool hdf5_collective_metadata = false;
    const char* rank_order = "";      ///< file with the slot of each rank; empty: ranks keep their order
    const char* honour_reorder = "";  ///< program that finds orders for topologies; empty: the library's
    const char* mark = "";            ///< two calls that a run is measured between, or `main`
    const char* mark_out = "";        ///< directory of mark files; empty: no marks are armed
    bool mark_end = false;            ///< the run ends at the last mark
    MarkRanks mark_ranks = MarkRanks::all;
    uint32_t stdout_kib = 0;           ///< buffer that gathers lines of stdout; 0: none
    uint32_t stdio_kib = 0;            ///< buffer of a stream that only writes; 0: libc's
    uint32_t write_behind_kib = 0;     ///< buffer that joins small writes to a file; 0: none
    uint32_t late_ms = 200;            ///< how long any of these holds something
    bool all_come_to_finalize = true;  ///< false: a rank must not wait for the others in MPI_Finalize
};

/// Options of this process. An option with an invalid value keeps its default.
Options read_options() noexcept;

}  // namespace mpiric

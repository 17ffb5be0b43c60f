// The record as it lies in a file; spec/formats/record.md says what each field means. Little-endian, no
// padding left to chance.
#pragma once

#include <cstdint>

namespace mpiric::profile {

inline constexpr uint32_t format_version = 2;
inline constexpr char image_magic[8] = {'M', 'P', 'I', 'R', 'I', 'C', 'I', '\n'};
inline constexpr char record_magic[8] = {'M', 'P', 'I', 'R', 'I', 'C', 'R', '\n'};

/// Section kinds; the position in the header is the kind.
enum class Section : uint32_t { cells, communicators, peers, regions, files, sites, names, facts, spans };
inline constexpr uint32_t section_count = 9;

enum class State : uint32_t { running = 1, finalized = 2, stopped = 3, aborted = 4 };

struct SectionEntry {
    uint64_t offset;    ///< from the start of the image
    uint32_t stride;    ///< bytes of one entry
    uint32_t capacity;  ///< entries there is room for
    uint32_t used;      ///< entries written
    uint32_t lost;      ///< events that found no room
};
static_assert(sizeof(SectionEntry) == 24);

/// What the kernel did for a process since the record began; `peak_kib` is that of its whole life.
struct Usage {
    uint64_t user_us, system_us, minor_faults, major_faults, voluntary_switches, involuntary_switches,
        peak_kib;
};

struct Image {
    char magic[8];
    uint32_t version;
    uint32_t sections;
    uint64_t bytes;  ///< of the whole image
    int32_t world_rank;
    int32_t world_size;
    uint32_t state;
    uint32_t thread_level;
    uint64_t job;  ///< what ranks of one run have in common
    uint64_t begin_unix_ns;
    uint64_t begin_ticks, begin_ns;    ///< clock pair at the start
    uint64_t latest_ticks, latest_ns;  ///< clock pair at the end, or the last one taken
    uint64_t receives_looked_at, receives_late, bytes_late, bytes_waiting_peak;
    uint64_t span_ticks;  ///< length of each span
    Usage usage;          ///< as of the latest span that was begun, or the end
    SectionEntry section[section_count];
};
static_assert(sizeof(Image) == 184 + 24 * 9);

inline constexpr uint32_t time_bins = 32;

/// One function on one communicator with messages of one size, in one region.
struct Cell {
    uint64_t key;  ///< function | communicator << 16 | size bin << 32 | region << 40
    uint64_t calls, bytes;
    uint64_t timed;  ///< calls whose time was taken
    uint64_t ticks, shortest, longest;
    uint64_t waited;                ///< ticks in the barrier before the call, when asked for
    uint32_t histogram[time_bins];  ///< of timed calls, by the number of bits in their ticks
};
static_assert(sizeof(Cell) == 64 + 4 * time_bins);

struct Communicator {
    uint64_t members;  ///< hash of the world ranks in order
    uint32_t ordinal;  ///< how many with these members came before
    int32_t size, rank, remote_size;
    uint32_t flags;  ///< 1: window, 2: between two groups, 4: all of the world in its order
    char name[36];
};
static_assert(sizeof(Communicator) == 64);

enum class Traffic : uint32_t { message, put, get };

struct Peer {
    int32_t world_rank;  ///< -1: outside the world
    uint32_t traffic;
    uint64_t messages, bytes;
};
static_assert(sizeof(Peer) == 24);

struct Region {
    uint64_t entries, ticks, mpi_ticks;
    char name[40];
};
static_assert(sizeof(Region) == 64);

struct File {
    uint64_t opens, reads, writes, bytes_read, bytes_written;
    uint64_t read_ticks, write_ticks, metadata_ticks;
    uint64_t metadata, seeks, syncs;  ///< calls that move no data
    uint64_t small, unaligned;        ///< accesses under 4 KiB; accesses that begin off a 4 KiB boundary
    uint64_t sequential;              ///< accesses that begin where the last one ended
    uint32_t interface;               ///< 0 POSIX, 1 MPI-IO, 2 standard streams
    uint32_t processes;               ///< members of the communicator that opened it, 1 for POSIX
    char path[128];
};
static_assert(sizeof(File) == 14 * 8 + 8 + 128);

struct Site {
    uint64_t address;  ///< return address in the program, as mapped
    uint64_t function;
    uint64_t calls, bytes, timed, ticks;
};
static_assert(sizeof(Site) == 48);

/// What a rank's time goes into, as far as it shows from outside; the rest is the program's own work.
enum class Activity : uint32_t { point_to_point, collective, other_mpi, files };
inline constexpr uint32_t activity_count = 4;

/// An equal part of the run; the first begins at begin_ticks.
inline constexpr uint32_t span_count = 128;
struct Span {
    uint64_t ticks[activity_count];
    uint64_t region_ticks;  ///< by how much the region below leads
    uint64_t region;        ///< with most of the span's time
};
static_assert(sizeof(Span) == 48);

/// Head of a merged record: the images of the ranks follow, then the index, then the names.
struct MergedHead {
    char magic[8];
    uint32_t version;
    uint32_t world_size;
    uint64_t bytes;
    uint64_t index_offset;  ///< MergedEntry for each rank that recorded, up to the names
    uint64_t names_offset, names_bytes;
};
static_assert(sizeof(MergedHead) == 48);

struct MergedEntry {
    uint64_t offset, bytes;  ///< of the image
    uint32_t crc;            ///< CRC-32 (IEEE) of the image
    uint32_t rank;
};
static_assert(sizeof(MergedEntry) == 24);

}  // namespace mpiric::profile

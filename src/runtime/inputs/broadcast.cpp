#include "base/own_file.hpp"
#include "base/say.hpp"
#include "inputs/inputs.hpp"
#include "inputs/kept.hpp"
#include "inputs/node_directory.hpp"
#include "marks/digest.hpp"
#include "posix/direct.hpp"
#include "profile/context.hpp"
#include "world/agreement.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace mpiric::inputs {
namespace {

using world::handles;
using world::library;
using world::ShadowComm;

constexpr size_t piece_bytes = 4 << 20;
constexpr int first_copy = 700;       // descriptors that programs do not come to
constexpr uint64_t most_of_disk = 4;  // a file takes at most such a part of what the node's disk has free
constinit bool begun = false;

struct Ranks {
    ShadowComm all, node, leaders;  ///< leaders: one rank of each node; of size 0 on the others
    bool leads() const noexcept { return node.rank == 0; }
};

/// What rank 0 says of a file, before its bytes and, the digest, after them.
struct Head {
    uint64_t bytes = 0;
    int64_t changed_s = 0, changed_ns = 0;
    uint32_t mode = 0;
    uint32_t readable = 0;
};

bool split(Ranks& ranks) noexcept {
    if (!world::make_shadow_comm_quietly(handles.comm_world, ranks.all))
        return false;
    bool made = library.Comm_split_type(ranks.all.comm, MPI_COMM_TYPE_SHARED, ranks.all.rank,
                                        handles.info_null, &ranks.node.comm) == MPI_SUCCESS;
    if (made) {
        library.Comm_rank(ranks.node.comm, &ranks.node.rank);
        library.Comm_size(ranks.node.comm, &ranks.node.size);
        made = library.Comm_split(ranks.all.comm, ranks.leads() ? 0 : MPI_UNDEFINED, ranks.all.rank,
                                  &ranks.leaders.comm) == MPI_SUCCESS;
    }
    if (made && ranks.leads()) {
        library.Comm_rank(ranks.leaders.comm, &ranks.leaders.rank);
        library.Comm_size(ranks.leaders.comm, &ranks.leaders.size);
    }
    return made;
}

void free_comms(Ranks& ranks) noexcept {
    if (ranks.leads())
        library.Comm_free(&ranks.leaders.comm);
    library.Comm_free(&ranks.node.comm);
    world::free_shadow_comm(ranks.all);
}

/// Whether all ranks say so.
bool agree(const Ranks& ranks, bool good) noexcept {
    uint64_t bad[] = {!good};
    return world::allreduce_max(ranks.all, bad) && bad[0] == 0;
}

Head head_of(int file) noexcept {
    struct stat facts{};
    if (file < 0 || direct(SYS_fstat, file, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size == 0)
        return {};
    return {.bytes = uint64_t(facts.st_size),
            .changed_s = facts.st_mtim.tv_sec,
            .changed_ns = facts.st_mtim.tv_nsec,
            .mode = facts.st_mode & 0777,
            .readable = 1};
}

bool has_room(const char* directory, uint64_t bytes) noexcept {
    struct statfs facts{};
    return statfs(directory, &facts) == 0 && bytes <= facts.f_bavail * uint64_t(facts.f_bsize) / most_of_disk;
}

/// Reads to the end of a piece.
bool read_all(int file, char* to, size_t bytes) noexcept {
    while (bytes > 0) {
        const long got = direct(SYS_read, file, to, bytes);
        if (got <= 0)
            return false;
        to += got;
        bytes -= size_t(got);
    }
    return true;
}
bool write_all(int file, const char* from, size_t bytes) noexcept {
    while (bytes > 0) {
        const long put = direct(SYS_write, file, from, bytes);
        if (put <= 0)
            return false;
        from += put;
        bytes -= size_t(put);
    }
    return true;
}

/// Sends a file's bytes from rank 0 to the copy of each node; the digest of what this rank has seen. A rank
/// that fails takes part to the end all the same.
bool send(const Ranks& ranks, int from, int copy, uint64_t bytes, char* piece, uint64_t& digest) noexcept {
    bool good = true;
    digest = 0;
    for (uint64_t done = 0; done < bytes; done += piece_bytes) {
        const size_t part = size_t(std::min<uint64_t>(piece_bytes, bytes - done));
        if (ranks.leaders.rank == 0)
            good = read_all(from, piece, part) && good;
        if (!world::broadcast(ranks.leaders, piece, part))
            return false;
        digest = marks::take_result(digest, piece, part);
        good = write_all(copy, piece, part) && good;
    }
    return good;
}

/// Whether the copy, read back, has the digest that rank 0 has sent.
bool is_whole(int copy, uint64_t bytes, char* piece, uint64_t digest) noexcept {
    uint64_t found = 0;
    if (direct(SYS_lseek, copy, off_t(0), SEEK_SET) != 0)
        return false;
    for (uint64_t done = 0; done < bytes; done += piece_bytes) {
        const size_t part = size_t(std::min<uint64_t>(piece_bytes, bytes - done));
        if (!read_all(copy, piece, part))
            return false;
        found = marks::take_result(found, piece, part);
    }
    return found == digest;
}

/// A leader's part in one file: its node's copy, `path`, in a new `directory`. False where it has none.
bool copy_to_node(const Ranks& ranks, int from, const Head& head, char* piece, char (&directory)[PATH_MAX],
                  char (&path)[PATH_MAX]) noexcept {
    bool good = make_node_directory(directory, runtime.options.local_dir) && has_room(directory, head.bytes);
    std::snprintf(path, sizeof path, "%.4000s/input", directory);
    const int copy = good ? direct_open(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600) : -1;
    uint64_t digest = 0;
    good = send(ranks, from, copy, head.bytes, piece, digest) && copy >= 0;
    good = world::broadcast(ranks.leaders, &digest, sizeof digest) && good;
    if (ranks.leaders.rank == 0) {
        const Head after = head_of(from);
        good = good && after.bytes == head.bytes && after.changed_s == head.changed_s &&
               after.changed_ns == head.changed_ns;
    }
    good = good && is_whole(copy, head.bytes, piece, digest);
    const timespec times[] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                              {.tv_sec = head.changed_s, .tv_nsec = head.changed_ns}};
    if (copy >= 0) {
        direct(SYS_fchmod, copy, head.mode);
        direct(SYS_utimensat, copy, nullptr, times, 0);
        direct_close(copy);
    }
    return good;
}

/// Opens the node's copy, under a descriptor that is out of the program's way; -1 where that fails.
int open_copy(const char* path) noexcept {
    const int file = direct_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW);
    if (file < 0)
        return -1;
    if (!is_own_file(file, false)) {
        direct_close(file);
        return -1;
    }
    const int out_of_way = int(direct(SYS_fcntl, file, F_DUPFD_CLOEXEC, first_copy));
    direct_close(file);
    return out_of_way;
}

/// Broadcasts one file and keeps its copy; false, on every rank, where that fails on any.
bool take(const Ranks& ranks, const char* input, char* piece) noexcept {
    const int from = ranks.all.rank == 0 ? direct_open(AT_FDCWD, input, O_RDONLY) : -1;
    Head head = head_of(from);
    char directory[PATH_MAX] = "", path[PATH_MAX] = "";
    bool good = world::broadcast(ranks.all, &head, sizeof head) && head.readable;
    if (good && ranks.leads())
        good = copy_to_node(ranks, from, head, piece, directory, path);
    const bool has_path = head.readable && world::broadcast(ranks.node, path, sizeof path);
    Kept kept = {.name = input, .copy = -1, .facts = {}};
    if (has_path && good)
        kept.copy = open_copy(path);
    good = good && kept.copy >= 0 && direct(SYS_newfstatat, AT_FDCWD, input, &kept.facts, 0) == 0 &&
           uint64_t(kept.facts.st_size) == head.bytes && kept.facts.st_mtim.tv_sec == head.changed_s &&
           kept.facts.st_mtim.tv_nsec == head.changed_ns;
    good = agree(ranks, good);
    if (const char* slash = std::strrchr(input, '/'))
        kept.name = slash + 1;
    if (kept.copy >= 0 && !(good && keep(kept)))
        direct_close(kept.copy);
    if (*directory) {
        direct_unlink(path);
        remove_node_directory(directory);
    }
    if (from >= 0)
        direct_close(from);
    return good;
}

}  // namespace

bool wanted(const Options& options) noexcept { return *options.broadcast; }

void say_why_not_begun(const Options& options) noexcept {
    if (!begun && wanted(options))
        say_once("no input is broadcast: MPI_Session_init is local, and a rank that never calls it would be "
                 "waited for");
}

void begin(const Options& options) noexcept {
    if (begun || !wanted(options))
        return;
    begun = true;
    Ranks ranks;
    void* piece = mmap(nullptr, piece_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (piece == MAP_FAILED || !split(ranks)) {
        say_once("no input is broadcast: there is no communicator or no memory for it");
        return;
    }
    static char names[PATH_MAX];  // stay: what is kept points into them
    std::snprintf(names, sizeof names, "%s", options.broadcast);
    for (char* at = names; at && *at;) {
        char* end = std::strchr(at, ';');
        if (end)
            *end = '\0';
        if (!take(ranks, at, static_cast<char*>(piece)) && ranks.all.rank == 0)
            say_once(
                "an input is not broadcast, and is read by all: it is not there, is empty, has changed, or a "
                "node's disk has no room for it",
                at);
        at = end ? end + 1 : nullptr;
    }
    munmap(piece, piece_bytes);
    free_comms(ranks);
}

}  // namespace mpiric::inputs

#include "files/node_local/staged.hpp"

#include "base/say.hpp"
#include "files/direct.hpp"
#include "files/node_directory.hpp"
#include "files/rules.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <linux/magic.h>
#include <linux/random.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace mpiric::files::node_local {

constinit Staged staged_files[most_staged];

namespace {

constexpr int descriptor_count = 4096;    // files with those above are made in their own places
constexpr uint64_t least_free_part = 10;  // of the node's disk, for files to be made there
constinit std::atomic<uint8_t> of_descriptor[descriptor_count];  ///< place in staged_files, and 1
constinit const char* patterns = "";
constinit const char* session = "";    ///< directory in which Open MPI keeps what ranks share
constinit char begins[PATH_MAX] = "";  ///< of all paths of this process on the node's disk
constinit dev_t disk = 0;
constinit std::atomic<unsigned> made{0};

bool has_room() noexcept {
    char directory[PATH_MAX];
    std::snprintf(directory, sizeof directory, "%.*s", int(std::strrchr(begins, '/') - begins), begins);
    struct statfs facts{};
    return statfs(directory, &facts) == 0 && facts.f_bavail >= facts.f_blocks / least_free_part;
}

/// Whether the flags make a file that is written and nothing else; what is to be safe at each write is not.
bool is_made_to_write(int flags) noexcept {
    return flags & O_CREAT && (flags & O_ACCMODE) != O_RDONLY &&
           !(flags & (O_DSYNC | O_SYNC | O_DIRECT | O_NOFOLLOW | O_PATH) || (flags & O_TMPFILE) == O_TMPFILE);
}

/// Whether it is a file of the MPI library's own, which other ranks are to map.
bool is_of_session(const char* path) noexcept {
    const size_t length = std::strlen(session);
    return length > 0 && std::strncmp(path, session, length) == 0 && path[length] == '/';
}

/// Whether the file's own place is on another file system, and not in memory, where libraries of MPI share
/// theirs.
bool leads_away(int directory, const char* path) noexcept {
    char head[PATH_MAX];
    const char* slash = std::strrchr(path, '/');
    std::snprintf(head, sizeof head, "%.*s.", slash ? int(slash + 1 - path) : 0, path);
    const Opened place(direct_open(directory, head, O_PATH | O_DIRECTORY));
    struct stat there{};
    struct statfs facts{};
    return place >= 0 && direct(SYS_fstat, int(place), &there) == 0 && there.st_dev != disk &&
           direct(SYS_fstatfs, int(place), &facts) == 0 && uint32_t(facts.f_type) != TMPFS_MAGIC &&
           uint32_t(facts.f_type) != RAMFS_MAGIC;
}

/// A free place, its lock held exclusively; null when there is none.
Staged* take_place() noexcept {
    for (Staged& each : staged_files) {
        if (each.state.load(std::memory_order_relaxed) != Staged::State::free ||
            pthread_rwlock_trywrlock(&each.lock) != 0)
            continue;
        if (each.state.load(std::memory_order_relaxed) == Staged::State::free)
            return &each;
        pthread_rwlock_unlock(&each.lock);
    }
    return nullptr;
}

/// Makes the link and the file, under the lock of its place: the file's descriptor, -1 where that fails.
int make(Staged& place, int directory, const char* path, int flags, mode_t mode) noexcept {
    const int length = std::snprintf(place.local, sizeof place.local, "%s%u", begins,
                                     made.fetch_add(1, std::memory_order_relaxed));
    if (length >= PATH_MAX || !write_absolute(place.own, directory, path) ||
        direct(SYS_symlinkat, place.local, directory, path) != 0)
        return -1;
    const int file = int(direct(SYS_openat, AT_FDCWD, place.local, flags | O_EXCL, mode));
    if (file >= 0 && file < descriptor_count)
        return file;
    if (file >= 0) {
        direct_close(file);
        direct_unlink(place.local);
    }
    direct(SYS_unlinkat, directory, path, 0);
    return -1;
}

}  // namespace

bool begin_staging(const char* wanted, const char* directory) noexcept {
    char host[65] = "", room[PATH_MAX];
    if (!write_node_directory(room, directory)) {
        say_once("no file is made on the node's disk: other nodes share this directory, or it cannot be made "
                 "for the "
                 "user alone (MPIRIC_LOCAL_DIR or TMPDIR names another)",
                 room);
        return false;
    }
    uint32_t nonce = 0;
    gethostname(host, sizeof host - 1);
    direct(SYS_getrandom, &nonce, sizeof nonce, GRND_NONBLOCK);  // the C library has it since glibc 2.25
    const int length =
        std::snprintf(begins, sizeof begins, "%s/%s.%d-%08x.", room, host, int(getpid()), nonce);
    struct stat facts{};
    if (length >= PATH_MAX - 16 || direct(SYS_newfstatat, AT_FDCWD, room, &facts, 0) != 0)
        return false;
    disk = facts.st_dev;
    if (const char* told = std::getenv("PMIX_SERVER_TMPDIR"))
        session = told;
    patterns = wanted;
    return true;
}

void leave_to_parent() noexcept {
    patterns = "";
    for (Staged& each : staged_files)
        if (each.descriptor >= 0)
            of_descriptor[each.descriptor].store(0, std::memory_order_relaxed);
}

bool concerns(const char* path) noexcept { return *patterns && path && fits_any(path, patterns); }

int stage(int directory, const char* path, int flags, mode_t mode) noexcept {
    const int error = errno;
    const bool goes =
        is_made_to_write(flags) && !is_of_session(path) && leads_away(directory, path) && has_room();
    Staged* place = goes ? take_place() : nullptr;
    if (!place)
        return -1;
    const int file = make(*place, directory, path, flags, mode);
    if (file >= 0) {
        place->descriptor = file;
        place->state.store(Staged::State::open, std::memory_order_release);
        of_descriptor[file].store(uint8_t(place - staged_files + 1), std::memory_order_release);
    }
    pthread_rwlock_unlock(&place->lock);
    errno = error;
    return file;
}

Staged* staged_of(int descriptor) noexcept {
    if (descriptor < 0 || descriptor >= descriptor_count)
        return nullptr;
    const uint8_t place = of_descriptor[descriptor].load(std::memory_order_acquire);
    return place ? &staged_files[place - 1] : nullptr;
}

Staged* staged_of(const Link& link) noexcept {
    if (std::strncmp(link.target, begins, std::strlen(begins)) != 0)
        return nullptr;
    for (Staged& each : staged_files)
        if (each.state.load(std::memory_order_acquire) != Staged::State::free &&
            std::strcmp(each.local, link.target) == 0)
            return &each;
    return nullptr;
}

void forget_descriptor(Staged& staged) noexcept {
    if (staged.descriptor >= 0)
        of_descriptor[staged.descriptor].store(0, std::memory_order_release);
    staged.descriptor = -1;
}

}  // namespace mpiric::files::node_local

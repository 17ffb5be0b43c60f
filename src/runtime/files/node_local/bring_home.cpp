#include "files/node_local/bring_home.hpp"

#include "base/say.hpp"
#include "files/direct.hpp"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace mpiric::files::node_local {
namespace {

constexpr size_t part_bytes = 4 << 20;
constexpr int most_turns =
    16;  // a file is copied anew where something that no name of libc shows writes to it

bool write_all(int to, const char* from, size_t bytes, off_t at) noexcept {
    while (bytes > 0) {
        const long put = direct(SYS_pwrite64, to, from, bytes, at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        from += put;
        at += put;
        bytes -= size_t(put);
    }
    return true;
}

bool copy_bytes(int from, int to) noexcept {
    void* part = mmap(nullptr, part_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (part == MAP_FAILED)
        return false;
    off_t at = 0;
    long got = 0;
    bool copied = true;
    while (copied && (got = direct(SYS_pread64, from, part, part_bytes, at)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        copied = got > 0 && write_all(to, static_cast<const char*>(part), size_t(got), at);
        at += got;
    }
    const int error = errno;
    munmap(part, part_bytes);
    errno = error;
    return copied && direct(SYS_ftruncate, to, at) == 0;
}

bool is_unchanged(const struct stat& before, const struct stat& now) noexcept {
    return before.st_size == now.st_size && before.st_mtim.tv_sec == now.st_mtim.tv_sec &&
           before.st_mtim.tv_nsec == now.st_mtim.tv_nsec;
}

/// Copies bytes, mode and times, until nothing has changed meanwhile.
bool copy(int from, int to, struct stat& facts) noexcept {
    for (int turn = 0; turn < most_turns; ++turn) {
        struct stat now{};
        if (direct(SYS_fstat, from, &facts) != 0 || !copy_bytes(from, to) ||
            direct(SYS_fstat, from, &now) != 0)
            return false;
        if (is_unchanged(facts, now))
            break;
    }
    const timespec times[] = {facts.st_atim, facts.st_mtim};
    direct(SYS_fchmod, to, facts.st_mode & 07777);
    direct(SYS_utimensat, to, nullptr, times, 0);
    return true;
}

/// Whether memory of this process is the file's: what is stored there would not reach another one.
bool is_mapped(const Staged& staged) noexcept {
    char text[2 * PATH_MAX + 1];  // a part of the list, behind the end of the one before
    const Opened maps(direct_open(AT_FDCWD, "/proc/self/maps", O_RDONLY));
    size_t kept = 0;
    long got = 0;
    while (maps >= 0 && (got = direct(SYS_read, int(maps), text + kept, sizeof text - 1 - kept)) > 0) {
        const size_t bytes = kept + size_t(got);
        text[bytes] = '\0';
        if (std::strstr(text, staged.local))
            return true;
        kept = bytes < PATH_MAX ? bytes : PATH_MAX;
        std::memmove(text, text + bytes - kept, kept);
    }
    return false;
}

bool is_open(const Staged& staged) noexcept { return staged.descriptor >= 0; }

/// Whether the program's descriptor is still what it was opened as.
bool leads_to_local(const Staged& staged) noexcept {
    struct stat file{}, open{};
    return direct(SYS_newfstatat, AT_FDCWD, staged.local, &file, 0) == 0 &&
           direct(SYS_fstat, staged.descriptor, &open) == 0 && file.st_ino == open.st_ino &&
           file.st_dev == open.st_dev;
}

/// Has the program's descriptor lead to the copy, at the same position.
bool lead_to(const Staged& staged, const char* copy_path) noexcept {
    constexpr int kept = O_ACCMODE | O_APPEND | O_NONBLOCK | O_NOATIME;
    const long flags = direct(SYS_fcntl, staged.descriptor, F_GETFL);
    const long on_exec = direct(SYS_fcntl, staged.descriptor, F_GETFD);
    const Opened copy(flags < 0 ? -1 : direct_open(AT_FDCWD, copy_path, int(flags) & kept));
    if (copy < 0)
        return false;
    const off_t at = direct(SYS_lseek, staged.descriptor, 0, SEEK_CUR);
    return direct(SYS_lseek, int(copy), at, SEEK_SET) == at &&
           direct(SYS_dup3, int(copy), staged.descriptor, on_exec & FD_CLOEXEC ? O_CLOEXEC : 0) >= 0;
}

int open_copy(const Staged& staged, char (&path)[PATH_MAX]) noexcept {
    Link link;
    if (!read_link(AT_FDCWD, staged.own, link) || std::strcmp(link.target, staged.local) != 0) {
        errno = ESTALE;
        return -1;
    }
    return write_beside(path, staged.own, copy_name, link.id())
               ? direct_open(AT_FDCWD, path, O_WRONLY | O_CREAT, 0600)
               : -1;
}

/// Makes of the copy what the program finds. Once its descriptor leads there the copy stays, whatever
/// happens.
bool put_in_place(Staged& staged, const char* copy_path, int from, int to) noexcept {
    struct stat facts{}, now{};
    if (!copy(from, to, facts) || (is_open(staged) && !lead_to(staged, copy_path))) {
        const int error = errno;
        direct_unlink(copy_path);
        errno = error;
        return false;
    }
    if (is_open(staged) && direct(SYS_fstat, from, &now) == 0 && !is_unchanged(facts, now))
        copy(from, to, facts);
    if (direct(SYS_renameat, AT_FDCWD, copy_path, AT_FDCWD, staged.own) == 0)
        return true;
    if (!is_open(staged))
        return false;
    say_once("a file is whole, but could not be put in its place: it is beside it", copy_path);
    return true;
}

}  // namespace

bool bring_home(Staged& staged, Mapped mapped) noexcept {
    if (is_open(staged) && !leads_to_local(staged))
        forget_descriptor(staged);  // closed by means that no name of libc shows
    if (mapped == Mapped::stays && is_mapped(staged)) {
        errno = EBUSY;
        return false;
    }
    char path[PATH_MAX];
    const Opened from(direct_open(AT_FDCWD, staged.local, O_RDONLY));
    const Opened to(from < 0 ? -1 : open_copy(staged, path));
    if (to < 0 || !put_in_place(staged, path, from, to))
        return false;
    direct_unlink(staged.local);
    forget_descriptor(staged);
    staged.state.store(Staged::State::free, std::memory_order_release);
    return true;
}

bool settle(Staged& staged, Mapped mapped) noexcept {
    const Alone alone(staged);
    return !alone.taken() || staged.state.load(std::memory_order_acquire) == Staged::State::free ||
           bring_home(staged, mapped);
}

void bring_home_of(int descriptor) noexcept {
    if (Staged* staged = staged_of(descriptor))
        settle(*staged);
}

bool reserve_room(const Staged& staged) noexcept {
    char path[PATH_MAX];
    struct stat facts{};
    const Opened to(open_copy(staged, path));
    if (to < 0 || direct(SYS_fstat, staged.descriptor, &facts) != 0)
        return false;
    if (facts.st_size == 0 || direct(SYS_fallocate, int(to), 0, off_t(0), facts.st_size) == 0)
        return true;
    const int error = errno;
    direct_unlink(path);
    errno = error == ENOSYS || error == EINVAL ? EOPNOTSUPP : error;
    return false;
}

}  // namespace mpiric::files::node_local

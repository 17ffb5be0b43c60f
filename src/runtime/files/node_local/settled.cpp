// A rank that meets the link of another one leaves its wish beside it, and waits until a file stands there.
// The maker's thread looks for wishes. Where nobody answers, because the maker is gone, the link stays as it
// is.
#include "files/node_local/settled.hpp"

#include "base/say.hpp"
#include "files/direct.hpp"
#include "files/node_local/bring_home.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace mpiric::files::node_local {
namespace {

constexpr long first_pause_ns = 1'000'000, longest_pause_ns = 50'000'000;
constexpr double patience_s = 20;  // without any sign of the maker

/// What shows that somebody works on it: the copy grows.
off_t copied_bytes(const char* copy) noexcept {
    struct stat facts{};
    return direct(SYS_newfstatat, AT_FDCWD, copy, &facts, 0) == 0 ? facts.st_size : -1;
}

/// Waits until another file, or none, is where the link was, or the maker has answered that it stays.
bool wait_for_maker(const char* path, const Link& link) noexcept {
    char wish[PATH_MAX], copy[PATH_MAX];
    if (!write_beside(wish, path, wish_name, link.id()) || !write_beside(copy, path, copy_name, link.id()))
        return false;
    const int file = direct_open(AT_FDCWD, wish, O_WRONLY | O_CREAT, 0600);
    if (file >= 0)
        direct_close(file);
    off_t seen = copied_bytes(copy);
    bool came = false;
    double waited_s = 0;
    for (long pause_ns = first_pause_ns; !came && waited_s < patience_s;
         pause_ns = std::min(2 * pause_ns, longest_pause_ns)) {
        const timespec pause = {.tv_sec = 0, .tv_nsec = pause_ns};
        nanosleep(&pause, nullptr);
        waited_s += double(pause_ns) * 1e-9;
        Link now;
        came = !read_link(AT_FDCWD, path, now) || (file >= 0 && !is_there(AT_FDCWD, wish));
        if (const off_t bytes = copied_bytes(copy); bytes != seen) {
            seen = bytes;
            waited_s = 0;
        }
    }
    direct_unlink(wish);
    return came;
}

}  // namespace

void Settled::settle_name(int directory, Use use) noexcept {
    if (!concerns(path_))
        return;
    const int error = errno;
    if (read_link(directory, path_, link_)) {
        Staged* staged = staged_of(link_);
        char own[PATH_MAX];
        if (use == Use::looks && is_there(AT_FDCWD, link_.target))
            path_ = link_.target;
        else if (staged ? !settle(*staged)
                        : !write_absolute(own, directory, path_) || !wait_for_maker(own, link_))
            say_once("a file is on the disk of the node that made it, and does not come from there: `mpiric "
                     "gather` "
                     "on that node brings it",
                     path_);
    }
    errno = error;
}

}  // namespace mpiric::files::node_local

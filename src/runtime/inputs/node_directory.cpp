#include "inputs/node_directory.hpp"

#include "posix/direct.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace mpiric::inputs {
namespace {

/// Whether a directory lies on a file system that other nodes share, by its magic number.
bool is_shared(const char* directory) noexcept {
    constexpr uint32_t lustre = 0x0BD00BD0, gpfs = 0x47504653, beegfs = 0x19830326, ceph = 0x00C36400,
                       panfs = 0xAAD7AAEA, fuse = 0x65735546;
    struct statfs facts{};
    if (statfs(directory, &facts) != 0)
        return false;
    for (const uint32_t kind : {lustre, gpfs, beegfs, ceph, panfs, fuse, uint32_t(NFS_SUPER_MAGIC),
                                uint32_t(V9FS_MAGIC), uint32_t(AFS_SUPER_MAGIC), uint32_t(SMB2_SUPER_MAGIC)})
        if (uint32_t(facts.f_type) == kind)
            return true;
    return false;
}

}  // namespace

bool make_node_directory(char (&to)[PATH_MAX], const char* parent) noexcept {
    constexpr int most_tries = 100;
    const char* temporary = std::getenv("TMPDIR");
    const char* at = *parent ? parent : temporary && *temporary ? temporary : "/tmp";
    if (*at != '/' || is_shared(at))
        return false;
    for (int number = 0; number < most_tries; ++number) {
        const int length = std::snprintf(to, sizeof to, "%s/mpiric-local-%u.%d.%d", at, unsigned(geteuid()),
                                         int(getpid()), number);
        if (length < int(sizeof to) && direct(SYS_mkdirat, AT_FDCWD, to, 0700) == 0)
            return true;
        if (errno != EEXIST)
            break;
    }
    *to = '\0';
    return false;
}

void remove_node_directory(const char* directory) noexcept {
    direct(SYS_unlinkat, AT_FDCWD, directory, AT_REMOVEDIR);
}

}  // namespace mpiric::inputs

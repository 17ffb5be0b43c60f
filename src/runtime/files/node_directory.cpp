#include "files/node_directory.hpp"

#include "files/direct.hpp"

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace mpiric::files {
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

bool is_ours(const char* directory) noexcept {
    struct stat facts{};
    return direct(SYS_newfstatat, AT_FDCWD, directory, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() && (facts.st_mode & 0077) == 0;
}

}  // namespace

bool write_node_directory(char (&to)[PATH_MAX], const char* given) noexcept {
    const char* temporary = std::getenv("TMPDIR");
    const char* at = *given ? given : temporary && *temporary ? temporary : "/tmp";
    const int length = std::snprintf(to, sizeof to, "%s/mpiric-local-%u", at, unsigned(geteuid()));
    if (*at != '/' || length >= int(sizeof to) || is_shared(at))
        return false;
    direct(SYS_mkdirat, AT_FDCWD, to, 0700);
    return is_ours(to);
}

}  // namespace mpiric::files

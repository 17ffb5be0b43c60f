// labfs STATE MOUNT [name=value …]: one client of a striped file system whose servers are a cost model.
//
// STATE is a directory that all clients share: `tree` holds the data, `servers` the queues, `faults` the
// faults. Each host of the lab runs a client of its own. Layouts are Lustre's: set on a directory for files
// made there later, or on a file between an open with O_LOV_DELAY_CREATE and its first write; on a file that
// has objects, success is answered and nothing changed, as Lustre does. FUSE passes FASYNC of the two flags
// alone.
#define FUSE_USE_VERSION 35
#include "faults.hpp"
#include "layout.hpp"
#include "servers.hpp"

#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <dirent.h>
#include <fcntl.h>
#include <fuse.h>
#include <memory>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace {

using namespace lab;

constexpr const char* attribute = "lustre.lov";
constexpr const char* kept_in = "user.lab.lov";
constexpr const char* delayed = "user.lab.delayed";

std::string tree;
Settings settings;
std::unique_ptr<Servers> servers;
std::unique_ptr<FaultFile> faults;

std::string real(const char* path) { return tree + path; }
int result(int64_t got) { return got == -1 ? -errno : int(got); }
void wait_metadata() { sleep_until(servers->metadata()); }

std::string parent(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

uint64_t number(const std::string& path) {
    struct stat facts{};
    return lstat((tree + path).c_str(), &facts) == 0 ? facts.st_ino : 0;
}

bool read_layout(const std::string& file, Layout& layout) {
    char value[65536];
    const ssize_t bytes = lgetxattr(file.c_str(), kept_in, value, sizeof value);
    return bytes > 0 && parse(std::string(value, size_t(bytes)), layout) == 0;
}

int write_layout(const std::string& file, const Layout& layout) {
    const std::string value = pack(layout);
    return lsetxattr(file.c_str(), kept_in, value.data(), value.size(), 0) == 0 ? 0 : errno;
}

/// Layout of new files in a directory: its own layout, or the layout of the nearest parent with one.
Layout inherited(std::string directory) {
    Layout layout;
    while (!read_layout(tree + directory, layout)) {
        layout.extents.clear();
        if (directory == "/")
            return Layout{{Extent{}}};
        directory = parent(directory);
    }
    return layout;
}

void place_objects(Layout& layout) {
    for (Extent& extent : layout.extents) {
        const bool overstriped = extent.pattern & 0x200;
        if (extent.count == 0xffff || (extent.count > settings.targets && !overstriped))
            extent.count = uint16_t(settings.targets);
        const int first = servers->next_target(extent.count);
        extent.targets.clear();
        for (int at = 0; at < extent.count; ++at)
            extent.targets.push_back(uint32_t((first + at) % settings.targets));
    }
}

struct Open {
    int fd = -1;
    uint64_t inode = 0;
    Layout layout = {};
};
Open& opened(fuse_file_info* info) { return *reinterpret_cast<Open*>(info->fh); }

/// Bytes on their way to the targets, of all files of this client.
class Dirty {
  public:
    void add(int64_t bytes, int64_t over) {
        std::unique_lock lock(mutex_);
        under_way_.push_back({bytes, over});
        sum_ += bytes;
        while (!under_way_.empty() && (sum_ > settings.dirty_bytes || under_way_.front().over <= now_ns())) {
            const Part part = under_way_.front();
            under_way_.pop_front();
            sum_ -= part.bytes;
            lock.unlock();
            sleep_until(part.over);
            lock.lock();
        }
    }

  private:
    struct Part {
        int64_t bytes, over;
    };
    std::mutex mutex_;
    std::deque<Part> under_way_;
    int64_t sum_ = 0;
};
Dirty dirty;

/// Queues an access piece by piece at the targets of its stripes; when the last one is over.
int64_t queue(Open& file, uint64_t offset, size_t bytes, bool write, std::vector<uint32_t>& targets,
              bool only_name) {
    int64_t over = 0;
    const double slower = only_name ? 1 : faults->now().slower;
    uint64_t before = 0;
    for (const Extent& extent : file.layout.extents) {
        while (bytes > 0 && offset < extent.end) {
            const uint64_t stripe = offset / extent.stripe_bytes;
            const size_t place = size_t(stripe % extent.targets.size());
            const uint64_t end = std::min((stripe + 1) * extent.stripe_bytes, extent.end);
            const size_t part = std::min<uint64_t>(bytes, end - offset);
            const uint64_t object = file.inode * 2654435761u + before + place;
            if (only_name)
                targets.push_back(extent.targets[place]);
            else
                over = std::max(over, servers->transfer(int(extent.targets[place]), object, int64_t(part),
                                                        write ? uint32_t(getpid()) : 0, slower));
            offset += part;
            bytes -= part;
        }
        before += extent.targets.size();
    }
    return over;
}

int open_file(const char* path, fuse_file_info* info, mode_t mode, bool made) {
    int flags = info->flags & ~(O_DIRECT | O_APPEND | O_ASYNC);
    if ((flags & O_ACCMODE) == O_WRONLY)
        flags = (flags & ~O_ACCMODE) | O_RDWR;
    const int fd = open(real(path).c_str(), flags | O_CLOEXEC, mode);
    if (fd < 0)
        return -errno;
    struct stat facts{};
    fstat(fd, &facts);
    auto file = std::make_unique<Open>();
    file->fd = fd;
    file->inode = facts.st_ino;
    if (!read_layout(real(path), file->layout)) {
        file->layout = inherited(parent(path));
        if (made && info->flags & O_ASYNC) {
            lsetxattr(real(path).c_str(), delayed, "1", 1, 0);
        } else if (lgetxattr(real(path).c_str(), delayed, nullptr, 0) < 0) {
            place_objects(file->layout);
            write_layout(real(path), file->layout);
        }
    }
    info->fh = reinterpret_cast<uint64_t>(file.release());
    info->direct_io = 1;
    return 0;
}

int lab_create(const char* path, mode_t mode, fuse_file_info* info) {
    sleep_until(servers->change_directory(number(parent(path))));
    wait_metadata();
    return open_file(path, info, mode, true);
}
int lab_open(const char* path, fuse_file_info* info) {
    wait_metadata();
    return open_file(path, info, 0, false);
}
int lab_release(const char*, fuse_file_info* info) {
    const std::unique_ptr<Open> file(&opened(info));
    close(file->fd);
    return 0;
}

/// 0, or the errno of an access. The layout may have been set since the file was opened.
int ready(const char* path, Open& file, uint64_t offset, size_t bytes, bool write) {
    if (!file.layout.has_objects() && (!read_layout(real(path), file.layout) || !file.layout.has_objects()))
        return write ? EBADF : 0;
    std::vector<uint32_t> targets;
    queue(file, offset, bytes, write, targets, true);
    return faults->access(targets, write);
}

int lab_write(const char* path, const char* from, size_t bytes, off_t offset, fuse_file_info* info) {
    Open& file = opened(info);
    if (const int error = ready(path, file, uint64_t(offset), bytes, true))
        return -error;
    std::vector<uint32_t> none;
    const int64_t over = queue(file, uint64_t(offset), bytes, true, none, false);
    servers->wrote(file.inode, over);
    dirty.add(int64_t(bytes), over);
    return result(pwrite(file.fd, from, bytes, offset));
}
int lab_read(const char* path, char* to, size_t bytes, off_t offset, fuse_file_info* info) {
    Open& file = opened(info);
    const ssize_t got = pread(file.fd, to, bytes, offset);
    if (got <= 0)
        return result(got);
    if (const int error = ready(path, file, uint64_t(offset), size_t(got), false))
        return -error;
    std::vector<uint32_t> none;
    if (file.layout.has_objects())
        sleep_until(queue(file, uint64_t(offset), size_t(got), false, none, false));
    return int(got);
}
int lab_fsync(const char*, int, fuse_file_info* info) {
    sleep_until(servers->safe_at(opened(info).inode));
    return 0;
}
int lab_flock(const char*, fuse_file_info* info, int operation) {
    return faults->now().no_flock ? -ENOTSUP : result(flock(opened(info).fd, operation));
}

int lab_getattr(const char* path, struct stat* facts, fuse_file_info*) {
    const int got = result(lstat(real(path).c_str(), facts));
    Layout layout;
    const bool glimpses = got == 0 && S_ISREG(facts->st_mode) && read_layout(real(path), layout);
    sleep_until(servers->glimpse(glimpses ? layout.objects() : 0));
    return got;
}
int lab_readdir(const char* path, void* into, fuse_fill_dir_t fill, off_t, fuse_file_info*,
                fuse_readdir_flags) {
    wait_metadata();
    DIR* directory = opendir(real(path).c_str());
    if (!directory)
        return -errno;
    while (const dirent* entry = readdir(directory))
        fill(into, entry->d_name, nullptr, 0, fuse_fill_dir_flags(0));
    closedir(directory);
    return 0;
}

int lab_setxattr(const char* path, const char* name, const char* value, size_t bytes, int flags) {
    wait_metadata();
    if (std::strcmp(name, attribute) != 0)
        return result(lsetxattr(real(path).c_str(), name, value, bytes, flags));
    if (faults->now().no_layouts)
        return -EPERM;
    Layout layout, there;
    if (const int error = parse(std::string(value, bytes), layout))
        return -error;
    struct stat facts{};
    if (lstat(real(path).c_str(), &facts) != 0)
        return -errno;
    if (S_ISREG(facts.st_mode)) {
        if (read_layout(real(path), there) && there.has_objects())
            return 0;
        place_objects(layout);
    }
    const int error = write_layout(real(path), layout);
    lremovexattr(real(path).c_str(), delayed);
    return -error;
}
int lab_getxattr(const char* path, const char* name, char* into, size_t room) {
    const char* kept = std::strcmp(name, attribute) == 0 ? kept_in : name;
    return result(lgetxattr(real(path).c_str(), kept, into, room));
}
int lab_removexattr(const char* path, const char* name) {
    wait_metadata();
    return result(lremovexattr(real(path).c_str(), std::strcmp(name, attribute) == 0 ? kept_in : name));
}

int lab_mkdir(const char* path, mode_t mode) {
    sleep_until(servers->change_directory(number(parent(path))));
    wait_metadata();
    return result(mkdir(real(path).c_str(), mode));
}
int lab_unlink(const char* path) {
    sleep_until(servers->change_directory(number(parent(path))));
    wait_metadata();
    return result(unlink(real(path).c_str()));
}
int lab_rmdir(const char* path) {
    wait_metadata();
    return result(rmdir(real(path).c_str()));
}
int lab_rename(const char* from, const char* to, unsigned) {
    wait_metadata();
    return result(rename(real(from).c_str(), real(to).c_str()));
}
int lab_link(const char* path, const char* other) {
    wait_metadata();
    sleep_until(servers->change_directory(number(parent(other))));
    return result(link(real(path).c_str(), real(other).c_str()));
}
int lab_symlink(const char* target, const char* path) { return result(symlink(target, real(path).c_str())); }
int lab_readlink(const char* path, char* into, size_t room) {
    const ssize_t got = readlink(real(path).c_str(), into, room - 1);
    if (got >= 0)
        into[got] = '\0';
    return got < 0 ? -errno : 0;
}
int lab_chmod(const char* path, mode_t mode, fuse_file_info*) {
    return result(chmod(real(path).c_str(), mode));
}
int lab_chown(const char* path, uid_t user, gid_t group, fuse_file_info*) {
    return result(lchown(real(path).c_str(), user, group));
}
int lab_truncate(const char* path, off_t bytes, fuse_file_info* info) {
    wait_metadata();
    return result(info ? ftruncate(opened(info).fd, bytes) : truncate(real(path).c_str(), bytes));
}
/// Room for a range; a target that is full says so here.
int lab_fallocate(const char* path, int mode, off_t offset, off_t bytes, fuse_file_info* info) {
    if (mode != 0)
        return -EOPNOTSUPP;
    wait_metadata();
    if (const int error = ready(path, opened(info), uint64_t(offset), size_t(bytes), true))
        return -error;
    return result(fallocate(opened(info).fd, 0, offset, bytes));
}
int lab_utimens(const char* path, const timespec times[2], fuse_file_info*) {
    return result(utimensat(AT_FDCWD, real(path).c_str(), times, AT_SYMLINK_NOFOLLOW));
}
int lab_statfs(const char*, struct statvfs* into) { return result(statvfs(tree.c_str(), into)); }

void* lab_init(fuse_conn_info* connection, fuse_config* config) {
    connection->max_write = connection->max_read = 1 << 20;
    config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;  // others change it too
    config->use_ino = 1;
    return nullptr;
}

fuse_operations operations() {
    fuse_operations all{};
    all.init = lab_init, all.getattr = lab_getattr, all.readdir = lab_readdir, all.statfs = lab_statfs;
    all.create = lab_create, all.open = lab_open, all.release = lab_release;
    all.read = lab_read, all.write = lab_write, all.fsync = lab_fsync, all.flock = lab_flock;
    all.mkdir = lab_mkdir, all.unlink = lab_unlink, all.rmdir = lab_rmdir, all.rename = lab_rename;
    all.link = lab_link, all.symlink = lab_symlink, all.readlink = lab_readlink, all.chmod = lab_chmod,
    all.chown = lab_chown;
    all.truncate = lab_truncate, all.utimens = lab_utimens, all.fallocate = lab_fallocate;
    all.setxattr = lab_setxattr, all.getxattr = lab_getxattr, all.removexattr = lab_removexattr;
    return all;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3)
        return std::fputs("labfs STATE MOUNT [name=value …]\n", stderr), 2;
    const std::string state = argv[1];
    for (int at = 3; at < argc; ++at)
        if (!lab::set(settings, argv[at]))
            return std::fprintf(stderr, "labfs: %s is no setting\n", argv[at]), 2;
    tree = state + "/tree";
    if (mkdir(tree.c_str(), 0777) != 0 && errno != EEXIST)
        return std::perror(tree.c_str()), 1;
    servers = std::make_unique<Servers>(state + "/servers", settings);
    faults = std::make_unique<FaultFile>(state + "/faults");
    char options[] = "fsname=lab@tcp:/lab,subtype=lustre,allow_other,max_read=1048576";
    char flag[] = "-o", threads[] = "max_idle_threads=64", stays[] = "-f";
    char* words[] = {argv[0], stays, flag, options, flag, threads, argv[2], nullptr};
    const fuse_operations all = operations();
    return fuse_main(7, words, &all, nullptr);
}

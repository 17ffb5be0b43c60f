#include "files.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mpiric::front {
namespace {

bool is_executable(const std::string& path) {
    struct stat state{};
    return access(path.c_str(), X_OK) == 0 && stat(path.c_str(), &state) == 0 && !S_ISDIR(state.st_mode);
}

void remove_all(const std::string& path) {
    if (DIR* directory = opendir(path.c_str())) {
        while (const dirent* entry = readdir(directory)) {
            const std::string_view name = entry->d_name;
            const std::string inner = path + "/" + entry->d_name;
            if (name != "." && name != ".." && unlink(inner.c_str()) != 0)
                remove_all(inner);
        }
        closedir(directory);
    }
    rmdir(path.c_str());
}

}  // namespace

std::optional<std::string> read_descriptor(int file) {
    struct stat state{};
    if (fstat(file, &state) != 0 || state.st_size < 0)
        return std::nullopt;
    std::string contents(static_cast<std::size_t>(state.st_size), '\0');
    std::size_t done = 0;
    while (done < contents.size()) {
        const ssize_t got =
            pread(file, contents.data() + done, contents.size() - done, static_cast<off_t>(done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return std::nullopt;
        done += static_cast<std::size_t>(got);
    }
    return contents;
}

std::optional<std::string> read_file(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return std::nullopt;
    auto contents = read_descriptor(file);
    close(file);
    return contents;
}

bool write_file(const std::string& path, std::string_view contents) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        return false;
    while (!contents.empty()) {
        const ssize_t put = write(file, contents.data(), contents.size());
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            break;
        contents.remove_prefix(static_cast<std::size_t>(put));
    }
    const bool is_whole = close(file) == 0 && contents.empty();
    if (!is_whole)
        unlink(path.c_str());
    return is_whole;
}

std::string find_program(const std::string& name) {
    if (name.find('/') != std::string::npos)
        return is_executable(name) ? name : "";
    const char* path = std::getenv("PATH");
    std::string_view left = path != nullptr ? path : "/bin:/usr/bin";
    for (;;) {
        const auto end = left.find(':');
        const std::string directory{left.substr(0, end)};
        std::string found = (directory.empty() ? "." : directory) + "/" + name;
        if (is_executable(found))
            return found;
        if (end == std::string_view::npos)
            return "";
        left.remove_prefix(end + 1);
    }
}

Scratch::Scratch() {
    const char* asked = std::getenv("TMPDIR");
    for (const char* parent : std::array{asked, "/tmp", "/var/tmp", "."}) {
        if (parent == nullptr || *parent == '\0')
            continue;
        std::string name = std::string{parent} + "/mpiric-XXXXXX";
        if (mkdtemp(name.data()) != nullptr) {
            path_ = name;
            return;
        }
    }
}

Scratch::~Scratch() {
    if (!path_.empty())
        remove_all(path_);
}

bool Scratch::make_directory(const std::string& name) const {
    return mkdir((path_ + "/" + name).c_str(), 0700) == 0;
}

}  // namespace mpiric::front

// Writes the merged record under a temporary name, then links it to the first free name.
#include "profile/merged_file.hpp"

#include "base/own_file.hpp"
#include "profile/format.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace mpiric::profile {
namespace {

constexpr std::array<uint32_t, 256> crc_table = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t at = 0; at < 256; ++at) {
        uint32_t value = at;
        for (int bit = 0; bit < 8; ++bit)
            value = value & 1 ? 0xEDB88320u ^ value >> 1 : value >> 1;
        table[at] = value;
    }
    return table;
}();

/// Writes in order and remembers whether it all went well.
class Output {
  public:
    explicit Output(int file) noexcept : file_(file) {}
    void put(const void* from, size_t bytes) noexcept {
        const char* at = static_cast<const char*>(from);
        while (good_ && bytes > 0) {
            const ssize_t written = ::write(file_, at, bytes);
            if (written < 0 && errno == EINTR)
                continue;
            good_ = written > 0;
            if (!good_)
                break;
            at += written;
            bytes -= size_t(written);
        }
    }
    bool good() const noexcept { return good_; }

  private:
    int file_;
    bool good_ = true;
};

/// Creates a file with a name of its own; a killed process with the same number may have left one.
int create_temporary(const char* directory, char (&path)[4096]) noexcept {
    constexpr int most_tries = 100;
    int file = -1;
    for (int number = 0; file < 0 && number < most_tries; ++number) {
        const int length =
            std::snprintf(path, sizeof path, "%s/merging.%d.%d", directory, int(getpid()), number);
        if (length < 0 || size_t(length) >= sizeof path) {
            errno = ENAMETOOLONG;
            return -1;
        }
        file = create_file(path, O_WRONLY, 0644);
        if (file < 0 && errno != EEXIST)
            break;
    }
    return file;
}

/// Gives the finished file the first free name; a link fails where a rename would overwrite an earlier run.
bool give_name(const char* directory, int first, const char* temporary) noexcept {
    char name[4096];
    for (int number = first; number < 1000; ++number) {
        if (number == 1)
            std::snprintf(name, sizeof name, "%s/record.mpiric", directory);
        else
            std::snprintf(name, sizeof name, "%s/record-%d.mpiric", directory, number);
        if (link(temporary, name) == 0)
            return unlink(temporary) == 0;
        if (errno == EEXIST)
            continue;
        // No hard links here (some network and memory file systems): an earlier file is then looked for.
        if (access(name, F_OK) != 0)
            return rename(temporary, name) == 0;
    }
    return false;
}

}  // namespace

uint32_t crc32(std::span<const std::byte> bytes) noexcept {
    uint32_t value = 0xFFFFFFFFu;
    for (const std::byte byte : bytes)
        value = crc_table[(value ^ uint32_t(byte)) & 0xFF] ^ value >> 8;
    return ~value;
}

bool write_merged(const char* directory, int first_number, uint32_t world_size,
                  std::span<const RankImage> images, std::string_view names, const char*& reason) noexcept {
    MergedHead head{};
    std::memcpy(head.magic, record_magic, sizeof head.magic);
    head.version = format_version;
    head.world_size = world_size;
    head.index_offset = sizeof head;
    for (const RankImage& image : images)
        head.index_offset += image.bytes.size();
    head.names_offset = head.index_offset + images.size() * sizeof(MergedEntry);
    head.names_bytes = names.size();
    head.bytes = head.names_offset + names.size();
    if (!may_be_as_long_as(head.bytes)) {
        reason = std::strerror(EFBIG);
        return false;
    }
    char temporary[4096];
    const int file = create_temporary(directory, temporary);
    if (file < 0) {
        reason = std::strerror(errno);
        return false;
    }
    Output output(file);
    output.put(&head, sizeof head);
    for (const RankImage& image : images)
        output.put(image.bytes.data(), image.bytes.size());
    uint64_t offset = sizeof head;
    for (const RankImage& image : images) {
        const MergedEntry entry = {offset, image.bytes.size(), crc32(image.bytes), image.rank};
        output.put(&entry, sizeof entry);
        offset += image.bytes.size();
    }
    output.put(names.data(), names.size());
    const bool written = output.good();
    const int refused = errno;
    if (::close(file) == 0 && written && give_name(directory, first_number, temporary))
        return true;
    reason = std::strerror(written ? errno : refused);
    unlink(temporary);
    return false;
}

}  // namespace mpiric::profile

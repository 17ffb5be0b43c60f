#include "files/descriptors.hpp"

#include "files/open_files.hpp"
#include "profile/context.hpp"

#include <unistd.h>

namespace mpiric::files {
namespace {

constexpr int descriptor_count = 4096;  // those above are not followed
constexpr uint32_t posix = 0, standard_stream = 2;
constexpr int64_t block_bytes = 4096;

struct Descriptor {
    profile::File* row = nullptr;
    int64_t position = 0;   ///< where the next access at the descriptor's own position begins
    int64_t last_end = -1;  ///< where the last access ended
};
constinit Descriptor descriptors[descriptor_count];

/// The row of a descriptor. Of those that were opened before us, or by means that we do not see, only the
/// standard streams are known.
profile::File* row_of(int descriptor) noexcept {
    if (descriptor < 0 || descriptor >= descriptor_count)
        return nullptr;
    Descriptor& state = descriptors[descriptor];
    if (!state.row && descriptor <= STDERR_FILENO) {
        constexpr const char* names[] = {"(stdin)", "(stdout)", "(stderr)"};
        state.row = runtime.recorder.file(names[descriptor], standard_stream, 1);
    }
    return state.row;
}

/// Counts how an access lies to the one before and to blocks of the file.
void locate_access(int descriptor, profile::File& row, const Access& access) noexcept {
    Descriptor& state = descriptors[descriptor];
    const int64_t begin = access.offset >= 0 ? access.offset : state.position;
    const int64_t end = begin + access.bytes;
    if (access.offset < 0)
        state.position = end;
    if (row.interface != standard_stream && !access.buffered) {
        row.small += uint64_t(access.bytes) < small_access_bytes;
        row.unaligned += begin % block_bytes != 0;
        row.sequential += state.last_end < 0 || begin == state.last_end;
    }
    state.last_end = end;
}

class Locked {
  public:
    Locked() noexcept : held_(runtime.recorder.lock(), true) {}

  private:
    Held held_;
};

}  // namespace

void descriptor_opened(int descriptor, const char* path, uint64_t ticks) noexcept {
    const Locked locked;
    profile::File* row = runtime.recorder.file(path, posix, 1);
    if (row) {
        ++row->opens;
        ++row->metadata;
        row->metadata_ticks += ticks;
    }
    if (descriptor >= 0 && descriptor < descriptor_count)
        descriptors[descriptor] = {row, 0, -1};
}

void descriptor_closed(int descriptor, uint64_t ticks) noexcept {
    const Locked locked;
    if (descriptor < 0 || descriptor >= descriptor_count)
        return;
    if (profile::File* row = descriptors[descriptor].row) {
        ++row->metadata;
        row->metadata_ticks += ticks;
    }
    descriptors[descriptor] = Descriptor{};
}

void descriptor_read(int descriptor, const Access& access) noexcept {
    const Locked locked;
    profile::File* row = row_of(descriptor);
    if (!row || access.bytes < 0)
        return;
    ++row->reads;
    row->bytes_read += uint64_t(access.bytes);
    row->read_ticks += access.ticks;
    locate_access(descriptor, *row, access);
}

void descriptor_wrote(int descriptor, const Access& access) noexcept {
    const Locked locked;
    profile::File* row = row_of(descriptor);
    if (!row || access.bytes < 0)
        return;
    ++row->writes;
    row->bytes_written += uint64_t(access.bytes);
    row->write_ticks += access.ticks;
    locate_access(descriptor, *row, access);
}

void descriptor_moved(int descriptor, int64_t offset) noexcept {
    const Locked locked;
    if (profile::File* row = row_of(descriptor); row && offset >= 0) {
        ++row->seeks;
        descriptors[descriptor].position = offset;
    }
}

void descriptor_synced(int descriptor, uint64_t ticks) noexcept {
    const Locked locked;
    if (profile::File* row = row_of(descriptor)) {
        ++row->syncs;
        row->metadata_ticks += ticks;
    }
}

void path_asked(uint64_t ticks) noexcept {
    const Locked locked;
    if (profile::File* row = runtime.recorder.file("(paths)", posix, 1)) {
        ++row->metadata;
        row->metadata_ticks += ticks;
    }
}

}  // namespace mpiric::files

// Counts what the wrappers of libc (wrap/posix.cpp) report, in the rows of the record's table of files.
#include "files/files.hpp"

#include "profile/context.hpp"

#include <algorithm>
#include <fcntl.h>
#include <processor.hpp>
#include <unistd.h>

namespace mpiric::files {
namespace {

constexpr uint32_t posix = 0, standard_stream = 2;
constexpr int64_t block_bytes = 4096;
constexpr uint64_t small_access_bytes = 4096;  // accesses below this size count as small

/// The row of a descriptor. Of the descriptors that were opened before the runtime, or by calls that it does
/// not intercept, only the standard streams are known.
profile::File* row_of(int descriptor) noexcept {
    if (descriptor < 0 || descriptor >= descriptor_count)
        return nullptr;
    Descriptor& open = state.descriptors[descriptor];
    if (!open.row && descriptor <= STDERR_FILENO) {
        constexpr const char* names[] = {"(stdin)", "(stdout)", "(stderr)"};
        open.row = runtime.recorder.file(names[descriptor], standard_stream, 1);
    }
    return open.row;
}

/// Counts the position of an access relative to the previous one and to blocks of the file.
void locate_access(int descriptor, profile::File& row, const Access& access) noexcept {
    Descriptor& open = state.descriptors[descriptor];
    const int64_t begin = access.offset >= 0 ? access.offset : open.position;
    const int64_t end = begin + access.bytes;
    if (access.offset < 0)
        open.position = end;
    if (row.interface != standard_stream && !access.buffered)
        open.trail.count(row, {begin, end, uint64_t(access.bytes)});
    else
        open.trail.pass(begin, end);
}

/// Flags of an open, in the encoding of the record.
uint64_t asked_for(int flags) noexcept {
    const int access = flags & O_ACCMODE;
    const auto bit = [flags](int flag, uint64_t value) { return flags & flag ? value : 0; };
    return (access != O_WRONLY ? 1u : 0u) | (access != O_RDONLY ? 2u : 0u) | bit(O_CREAT, 4) |
           bit(O_TRUNC, 8) | bit(O_APPEND, 16) | bit(O_EXCL, 32) | bit(O_DIRECT, 64) | bit(O_DSYNC, 128) |
           bit(O_NOATIME, 256);
}

/// Changes, under the lock, the row of a descriptor, if it has one.
template <class Change> void change_row(int descriptor, Change&& change) noexcept {
    const Held held(runtime.recorder.lock(), true);
    if (profile::File* row = row_of(descriptor))
        change(*row);
}

}  // namespace

void Trail::count_size(profile::File& row, uint64_t bytes) noexcept {
    row.small += bytes < small_access_bytes;
}

void Trail::count(profile::File& row, const Located& access) noexcept {
    const auto [begin, end, bytes] = access;
    count_size(row, bytes);
    row.unaligned += begin % block_bytes != 0;
    const bool has_gaps = uint64_t(end - begin) > bytes;
    const bool follows = (last_end_ < 0 || begin == last_end_) && !has_gaps;
    row.sequential += follows;
    profile::FileDetail& detail = runtime.recorder.detail(row);
    const int64_t step = begin - last_begin_;
    detail.strided += has_gaps || (!follows && step == step_);
    detail.first_byte = std::min(detail.end_byte ? detail.first_byte : uint64_t(begin), uint64_t(begin));
    detail.end_byte = std::max(detail.end_byte, uint64_t(end));
    detail.largest = std::max(detail.largest, bytes);
    step_ = step;
    pass(begin, end);
}

void descriptor_opened(int descriptor, const char* path, int flags, uint64_t took) noexcept {
    const Held held(runtime.recorder.lock(), true);
    profile::File* row = runtime.recorder.file(path, posix, 1);
    if (row) {
        ++row->opens;
        ++row->metadata;
        row->metadata_ticks += took;
        profile::FileDetail& detail = runtime.recorder.detail(*row);
        detail.opened |= asked_for(flags);
        if (flags & O_CREAT && ++detail.creating == 1)
            detail.first_created_ticks = ticks();
    }
    if (descriptor >= 0 && descriptor < descriptor_count) {
        state.descriptors[descriptor] = Descriptor{};
        state.descriptors[descriptor].row = row;
    }
}

void descriptor_closed(int descriptor, uint64_t ticks) noexcept {
    const Held held(runtime.recorder.lock(), true);
    if (descriptor < 0 || descriptor >= descriptor_count)
        return;
    if (profile::File* row = state.descriptors[descriptor].row) {
        ++row->metadata;
        row->metadata_ticks += ticks;
        runtime.recorder.detail(*row).close_ticks += ticks;
    }
    state.descriptors[descriptor] = Descriptor{};
}

void descriptor_read(int descriptor, const Access& access) noexcept {
    change_row(descriptor, [&](profile::File& row) {
        if (access.bytes < 0)
            return;
        ++row.reads;
        row.bytes_read += uint64_t(access.bytes);
        row.read_ticks += access.ticks;
        locate_access(descriptor, row, access);
    });
}

void descriptor_wrote(int descriptor, const Access& access) noexcept {
    change_row(descriptor, [&](profile::File& row) {
        if (access.bytes < 0)
            return;
        ++row.writes;
        row.bytes_written += uint64_t(access.bytes);
        row.write_ticks += access.ticks;
        runtime.recorder.detail(row).lines += access.ends_line;
        locate_access(descriptor, row, access);
    });
}

void descriptor_moved(int descriptor, int64_t offset) noexcept {
    change_row(descriptor, [&](profile::File& row) {
        if (offset < 0)
            return;
        ++row.seeks;
        state.descriptors[descriptor].position = offset;
    });
}

void descriptor_synced(int descriptor, uint64_t ticks) noexcept {
    change_row(descriptor, [&](profile::File& row) {
        ++row.syncs;
        row.metadata_ticks += ticks;
    });
}

void descriptor_locked(int descriptor, uint64_t ticks) noexcept {
    change_row(descriptor, [&](profile::File& row) {
        profile::FileDetail& detail = runtime.recorder.detail(row);
        ++detail.locks;
        detail.lock_ticks += ticks;
        row.metadata_ticks += ticks;
    });
}

void descriptor_flushed(int descriptor, uint64_t ticks) noexcept {
    change_row(descriptor, [&](profile::File& row) {
        ++runtime.recorder.detail(row).flushes;
        row.write_ticks += ticks;
    });
}

void descriptor_asked(int descriptor, uint64_t ticks) noexcept {
    const Held held(runtime.recorder.lock(), true);
    if (descriptor < 0 || descriptor >= descriptor_count || !state.descriptors[descriptor].row)
        return;
    profile::File& row = *state.descriptors[descriptor].row;
    ++row.metadata;
    row.metadata_ticks += ticks;
}

void path_asked(uint64_t ticks) noexcept {
    const Held held(runtime.recorder.lock(), true);
    if (profile::File* row = runtime.recorder.file("(paths)", posix, 1)) {
        ++row->metadata;
        row->metadata_ticks += ticks;
    }
}

}  // namespace mpiric::files

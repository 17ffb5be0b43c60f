#include "files/node_local/calls.hpp"

#include "files/node_local/bring_home.hpp"
#include "files/node_local/draining.hpp"
#include "files/posix.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>

namespace mpiric::files::node_local {
namespace {

constinit void* behind[posix_count];  ///< what stood there before

template <class Pointer> Pointer libc(Posix which) noexcept {
    return reinterpret_cast<Pointer>(behind[static_cast<uint32_t>(which)]);
}

/// Errors that the node's disk has and the file's own place may not have.
bool is_of_disk(int error) noexcept { return error == ENOSPC || error == EDQUOT || error == EIO; }

/// Parts that are to be written, and where: -1 for the descriptor's position.
struct Writing {
    const iovec* parts;
    int count;
    off_t offset;

    size_t bytes() const noexcept {
        size_t sum = 0;
        for (int at = 0; at < count; ++at)
            sum += parts[at].iov_len;
        return sum;
    }
};

/// Writes what is left of it behind `done` bytes; all that is written then.
ssize_t write_rest(int descriptor, const Writing& writing, size_t done) noexcept {
    size_t begin = 0;
    for (int at = 0; at < writing.count; begin += writing.parts[at++].iov_len) {
        const auto [base, length] = writing.parts[at];
        while (done < begin + length) {
            const char* from = static_cast<const char*>(base) + (done - begin);
            const size_t bytes = begin + length - done;
            const ssize_t put =
                writing.offset < 0
                    ? libc<ssize_t (*)(int, const void*, size_t)>(Posix::write)(descriptor, from, bytes)
                    : libc<ssize_t (*)(int, const void*, size_t, off_t)>(Posix::pwrite)(
                          descriptor, from, bytes, writing.offset + off_t(done));
            if (put <= 0)
                return done > 0 ? ssize_t(done) : put;
            done += size_t(put);
        }
    }
    return ssize_t(done);
}

/// A write by `call`; where the node's disk is full it goes on in the file's own place.
template <class Call> ssize_t write_to(int descriptor, const Writing& writing, Call&& call) noexcept {
    Staged* staged = staged_of(descriptor);
    if (!staged) [[likely]]
        return call();
    const Staged* before = std::exchange(written_here, staged);
    const bool shared = pthread_rwlock_rdlock(&staged->lock) == 0;
    const ssize_t put = call();
    const int error = errno;
    if (shared)
        pthread_rwlock_unlock(&staged->lock);
    written_here = before;
    const bool is_full = put < 0 ? is_of_disk(error) : size_t(put) < writing.bytes();
    if (is_full && settle(*staged))
        return write_rest(descriptor, writing, put < 0 ? 0 : size_t(put));
    errno = error;
    return put;
}

ssize_t n_write(int descriptor, const void* from, size_t bytes) {
    const iovec part = {const_cast<void*>(from), bytes};
    return write_to(descriptor, {&part, 1, -1}, [&] {
        return libc<ssize_t (*)(int, const void*, size_t)>(Posix::write)(descriptor, from, bytes);
    });
}
template <Posix which> ssize_t n_pwrite(int descriptor, const void* from, size_t bytes, off_t offset) {
    const iovec part = {const_cast<void*>(from), bytes};
    return write_to(descriptor, {&part, 1, offset}, [&] {
        return libc<ssize_t (*)(int, const void*, size_t, off_t)>(which)(descriptor, from, bytes, offset);
    });
}
ssize_t n_writev(int descriptor, const iovec* parts, int count) {
    return write_to(descriptor, {parts, count, -1}, [&] {
        return libc<ssize_t (*)(int, const iovec*, int)>(Posix::writev)(descriptor, parts, count);
    });
}
template <Posix which> ssize_t n_pwritev(int descriptor, const iovec* parts, int count, off_t offset) {
    return write_to(descriptor, {parts, count, offset}, [&] {
        return libc<ssize_t (*)(int, const iovec*, int, off_t)>(which)(descriptor, parts, count, offset);
    });
}

/// Whether a file is home, or will be once it is mapped no longer.
bool comes_home(Staged& staged) noexcept { return bring_home(staged) || errno == EBUSY; }

/// Closes the descriptor, and queues the file when room is reserved for it in its place. Where none can be,
/// it comes home now: what is wrong there is told by this call, as in the plain run.
int close_staged(int descriptor, Staged& staged) noexcept {
    bool written = false;
    int error = 0;
    {
        const Alone alone(staged);
        if (!alone.taken() || staged.descriptor != descriptor)
            return libc<int (*)(int)>(Posix::close)(descriptor);
        const bool reserved = reserve_room(staged);
        error = errno;
        forget_descriptor(staged);
        const int result = libc<int (*)(int)>(Posix::close)(descriptor);
        staged.state.store(Staged::State::queued, std::memory_order_release);
        written = result == 0 && (reserved || (error == EOPNOTSUPP && comes_home(staged)));
        if (result != 0 || error == EOPNOTSUPP)
            error = errno;
        if (!written)
            staged.state.store(Staged::State::kept, std::memory_order_release);
    }
    wake_drain();
    if (written)
        return 0;
    errno = error;
    return -1;
}

int n_close(int descriptor) {
    Staged* staged = staged_of(descriptor);
    return staged ? close_staged(descriptor, *staged) : libc<int (*)(int)>(Posix::close)(descriptor);
}

/// A call on a descriptor whose file is in its own place by then, where it can be.
template <Posix which, class Result, class... Arguments>
Result at_home(int descriptor, Arguments... arguments) {
    bring_home_of(descriptor);
    return libc<Result (*)(int, Arguments...)>(which)(descriptor, arguments...);
}

/// The same for fsync(2) and its like, which must not tell that data are safe that are not.
template <Posix which> int n_sync(int descriptor) {
    Staged* staged = staged_of(descriptor);
    if (staged && !settle(*staged))
        return -1;
    return libc<int (*)(int)>(which)(descriptor);
}

/// A call that makes one descriptor another one's copy: both are at home.
template <Posix which, class... Arguments> int onto(int from, int to, Arguments... arguments) {
    if (from != to)
        bring_home_of(to);
    return at_home<which, int, int, Arguments...>(from, to, arguments...);
}

/// Calls that copy bytes within the kernel, from one descriptor to another.
template <Posix which, class... Arguments> ssize_t from_to(int from, Arguments... arguments) {
    return at_home<which, ssize_t, Arguments...>(from, arguments...);
}

template <Posix which> int n_fcntl(int descriptor, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void* argument = va_arg(arguments, void*);
    va_end(arguments);
    const bool asks = command == F_GETFD || command == F_SETFD || command == F_GETFL;
    if (!asks)
        bring_home_of(descriptor);
    return libc<int (*)(int, int, ...)>(which)(descriptor, command, argument);
}

void* call_of(uint32_t at) noexcept {
#define MPIRIC_CALL(name, ...)                                                                               \
    case Posix::name:                                                                                        \
        return reinterpret_cast<void*>(__VA_ARGS__)
    switch (Posix(at)) {
        MPIRIC_CALL(write, &n_write);
        MPIRIC_CALL(pwrite, &n_pwrite<Posix::pwrite>);
        MPIRIC_CALL(pwrite64, &n_pwrite<Posix::pwrite64>);
        MPIRIC_CALL(writev, &n_writev);
        MPIRIC_CALL(pwritev, &n_pwritev<Posix::pwritev>);
        MPIRIC_CALL(pwritev64, &n_pwritev<Posix::pwritev64>);
        MPIRIC_CALL(close, &n_close);
        MPIRIC_CALL(fsync, &n_sync<Posix::fsync>);
        MPIRIC_CALL(fdatasync, &n_sync<Posix::fdatasync>);
        MPIRIC_CALL(syncfs, &n_sync<Posix::syncfs>);
        MPIRIC_CALL(dup, &at_home<Posix::dup, int>);
        MPIRIC_CALL(dup2, &onto<Posix::dup2>);
        MPIRIC_CALL(dup3, &onto<Posix::dup3, int>);
        MPIRIC_CALL(fdopen, &at_home<Posix::fdopen, FILE*, const char*>);
        MPIRIC_CALL(flock, &at_home<Posix::flock, int, int>);
        MPIRIC_CALL(lockf, &at_home<Posix::lockf, int, int, off_t>);
        MPIRIC_CALL(lockf64, &at_home<Posix::lockf64, int, int, off_t>);
        MPIRIC_CALL(fcntl, &n_fcntl<Posix::fcntl>);
        MPIRIC_CALL(fcntl64, &n_fcntl<Posix::fcntl64>);
        MPIRIC_CALL(fallocate, &at_home<Posix::fallocate, int, int, off_t, off_t>);
        MPIRIC_CALL(fallocate64, &at_home<Posix::fallocate64, int, int, off_t, off_t>);
        MPIRIC_CALL(posix_fallocate, &at_home<Posix::posix_fallocate, int, off_t, off_t>);
        MPIRIC_CALL(posix_fallocate64, &at_home<Posix::posix_fallocate64, int, off_t, off_t>);
        MPIRIC_CALL(ioctl, &at_home<Posix::ioctl, int, unsigned long, void*>);
        MPIRIC_CALL(fchown, &at_home<Posix::fchown, int, uid_t, gid_t>);
        MPIRIC_CALL(sendfile, &from_to<Posix::sendfile, int, off_t*, size_t>);
        MPIRIC_CALL(sendfile64, &from_to<Posix::sendfile64, int, off_t*, size_t>);
    default:
        return nullptr;
    }
#undef MPIRIC_CALL
}

}  // namespace

void lead_calls() noexcept {
    for (uint32_t at = 0; at < posix_count; ++at)
        if (void* call = call_of(at)) {
            behind[at] = libc_posix(at);
            set_libc_posix(at, call);
        }
}

}  // namespace mpiric::files::node_local

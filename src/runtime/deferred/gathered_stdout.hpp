// Gathers the lines of stdout: lines that a program flushes one by one are written by few system calls, each
// of whole lines.
#pragma once

#include <cstddef>
#include <cstdio>
#include <sys/types.h>

namespace mpiric::deferred {

/// Bytes to write: all that the plain run would have written by now; or these and all further whole lines.
enum class Outgoing : unsigned char { due, lines };

/// Gathers output to stdout up to `bytes`, where stdout is a pipe, a socket or a terminal that stderr does
/// not share. Called before anything else in this process writes to it.
void begin_stdout(size_t bytes) noexcept;
bool gathers_stdout() noexcept;
/// Descriptor 1 or its stream is about to become something else.
void end_stdout() noexcept;

/// Before the program prints: makes room for it.
void make_room() noexcept;
/// Writes out what is gathered; false, with errno, when that failed.
bool write_out_stdout(Outgoing what) noexcept;
/// The same in a signal handler that ends the process: takes no lock of stdio's.
void write_out_stdout_at_end() noexcept;

/// fflush(stdout): the contents of the stream become due, and are written later. Returns as fflush does.
int flush_stdout_later() noexcept;
/// setvbuf(stdout): the mode and the bytes of a buffer, 0 for none given, are kept in mind: they say when
/// lines are due. MPICH makes the stream an unbuffered one.
void set_stdout_mode(int mode, size_t bytes) noexcept;
/// write(1): as write(2) returns.
ssize_t write_stdout_later(const void* from, size_t bytes) noexcept;

/// A forked child has the modes of the program, and gathers nothing.
void leave_stdout_to_child() noexcept;

}  // namespace mpiric::deferred

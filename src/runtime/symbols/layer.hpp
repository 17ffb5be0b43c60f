// A layer: one feature of the runtime, between the program and the MPI library. The switchboard
// (symbols/switchboard.hpp) asks the layers of layers/order.inc which functions they need.
#pragma once

#include "base/options.hpp"
#include "posix/posix.hpp"
#include "symbols/next.hpp"
#include "world/library.hpp"

#include <cstdint>
#include <span>

namespace mpiric {

/// Interest of a layer in the calls of a function.
enum class Interest : uint8_t {
    none,
    before,  ///< Layer::before runs ahead of each call, by whichever name and at any depth
    watch,   ///< calls of the program go through the function's wrapper (wrap/)
    replace  ///< the layer puts a function of its own before the next one; the same in all of a process's
             ///< life
};

/// The processes that MPI has been initialised for.
struct ProgramWorld {
    MPI_Group group{};       ///< group of MPI_COMM_WORLD, or of `mpi://WORLD`
    bool has_group = false;  ///< the library has told the group
    bool of_sessions = false;
    bool spawned = false;  ///< true if another MPI job spawned it; the files belong to that job
    int thread_level = MPI_THREAD_SINGLE;
};

/// A call that has initialised MPI, in ticks of the clock.
struct InitCall {
    symbols::Function function;
    uint64_t ticks, end;
};

/// A feature. Members that it does not need are null; those after `enabled` are called if it is.
struct Layer {
    const char* name;
    /// Decided once per process, before MPI is initialised.
    bool (*enabled)(const Options&) noexcept;

    /// Asked when a function is first called, and again after symbols::interest_changed().
    Interest (*interest)(symbols::Function) noexcept = nullptr;
    void (*before)(symbols::Function) noexcept = nullptr;
    /// Changes what follows for the two names, and keeps what was there to call it.
    void (*replace)(symbols::Function, symbols::NextFunction& following) noexcept = nullptr;
    /// The same for names of libc, none of which is replaced in this way.
    Interest (*posix_interest)(Posix) noexcept = nullptr;
    void (*before_posix)(Posix) noexcept = nullptr;

    /// The MPI library has been found, its own functions can be called: before any function is replaced.
    void (*on_library)() noexcept = nullptr;
    void (*before_init)() noexcept = nullptr;
    /// MPI_Init has succeeded: in the order of the layers, collective over the world. For a program of
    /// sessions each MPI_Session_init, until one has told the group; nothing collective then. A layer may
    /// give the layers after it another world.
    void (*on_init)(ProgramWorld&) noexcept = nullptr;
    /// The program goes on after a call that has initialised MPI.
    void (*after_init)(const InitCall&) noexcept = nullptr;
    /// Before MPI_Finalize, or before the end of the last session: in reverse order.
    void (*on_finalize)(const ProgramWorld&) noexcept = nullptr;
    void (*on_abort)() noexcept = nullptr;

    /// A name of another library that this one exports, and whether programs see it; before the options are
    /// read, whether the layer is enabled or not.
    const char* exported = nullptr;
    bool (*shows)() noexcept = nullptr;
};

/// All layers in their order, the one next to the library first.
std::span<const Layer* const> layers() noexcept;

}  // namespace mpiric

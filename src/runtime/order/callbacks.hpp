// Functions of the program that the library calls with a communicator: each gets an entrance of its own,
// which hands it MPI_COMM_WORLD where the library has the world in another order.
#pragma once

#include "order/substitution.hpp"

#include <array>
#include <cstdarg>
#include <cstddef>
#include <type_traits>
#include <utility>

// Names by which a Fortran layer calls its library past the names of MPI; the build exports them.
#define MPIRIC_EXPORTED extern "C" [[gnu::visibility("default")]]

namespace mpiric::order {

/// Entrances for functions of one type, one for each function however often it is given. Where a program has
/// more of them, the rest are called directly.
template <class Pointer, class Entrance> class Entrances {
  public:
    static Pointer entrance(Pointer function) noexcept {
        GivenFunctions& functions = state.given_functions[Entrance::kind];
        const Held held(functions.lock, true);
        for (size_t at = 0; at < functions.used; ++at)
            if (functions.given[at] == reinterpret_cast<void*>(function))
                return entrances[at];
        if (functions.used == most)
            return function;
        functions.given[functions.used] = reinterpret_cast<void*>(function);
        return entrances[functions.used++];
    }

    /// The function behind an entrance; any other function itself.
    static Pointer behind(Pointer function) noexcept {
        for (size_t at = 0; at < state.given_functions[Entrance::kind].used; ++at)
            if (entrances[at] == function)
                return reinterpret_cast<Pointer>(state.given_functions[Entrance::kind].given[at]);
        return function;
    }

    template <size_t at> static Pointer given() noexcept {
        return reinterpret_cast<Pointer>(state.given_functions[Entrance::kind].given[at]);
    }

  private:
    static constexpr size_t most = GivenFunctions::most;
    template <size_t... at>
    static constexpr std::array<Pointer, most> all(std::index_sequence<at...>) noexcept {
        return {&Entrance::template call<at>...};
    }
    static constexpr std::array<Pointer, most> entrances = all(std::make_index_sequence<most>());
};

/// A function whose first argument is a communicator.
template <class Pointer> struct WithComm;
template <class Result, class... Rest> struct WithComm<Result (*)(MPI_Comm, Rest...)> {
    using Pointer = Result (*)(MPI_Comm, Rest...);
    static constexpr size_t kind = sizeof...(Rest) == 5 ? 0 : 1;  // copies and deletions of attributes
    template <size_t at> static Result call(MPI_Comm comm, Rest... rest) {
        return Entrances<Pointer, WithComm>::template given<at>()(to_program(comm), rest...);
    }
};

/// An error handler. The arguments after the code are the library's business; two words cover them.
struct WithError {
    using Pointer = MPI_Comm_errhandler_function*;
    static constexpr size_t kind = 2;
    template <size_t at> static void call(MPI_Comm* comm, int* code, ...) {
        va_list rest;
        va_start(rest, code);
        void* first = va_arg(rest, void*);
        void* second = va_arg(rest, void*);
        va_end(rest);
        MPI_Comm seen = to_program(*comm);
        Entrances<Pointer, WithError>::template given<at>()(&seen, code, first, second);
    }
};

template <class Entrance> using EntrancesOf = Entrances<typename Entrance::Pointer, Entrance>;

/// The definition that a name leads to without us.
template <class Pointer> Pointer following(const char* name) noexcept {
    void* linked = world::find_linked(name);
    return reinterpret_cast<Pointer>(linked ? linked : world::find(name));
}

using Copies = EntrancesOf<WithComm<std::decay_t<MPI_Comm_copy_attr_function>>>;
using Deletions = EntrancesOf<WithComm<std::decay_t<MPI_Comm_delete_attr_function>>>;
using ErrorHandlers = EntrancesOf<WithError>;

}  // namespace mpiric::order

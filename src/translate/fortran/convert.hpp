// Conversion of Fortran's arguments to C, for the family of the program, which MPIRIC_PROGRAM names.
// clang-format off
#pragma once

#include "classes.hpp"
#include "fortran/shared.hpp"
#include "room.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include MPIRIC_FAMILY_FILE(MPIRIC_PROGRAM)

// The name of the C function that a binding calls: Open MPI's own call the profiling names.
#if MPIRIC_IS(MPIRIC_PROGRAM) == 2
#define C(name) P##name
#else
#define C(name) name
#endif

namespace mpiric::translate {

namespace program = MPIRIC_PROGRAM;
template <class T> using PHandle = program::HandleOf<T>::type;
#define CLASS(name) using P##name = PHandle<name>;
HANDLE_CLASSES(CLASS)
#undef CLASS
using PStatus = program::Status;

/// Whether a handle of C is Fortran's integer.
template <class T> inline constexpr bool is_number = std::is_same_v<PHandle<T>, int>;

}  // namespace mpiric::translate

// Classes of handles that C and Fortran convert into each other: the name in the functions, the type.
#define CONVERTED_CLASSES(_)                                                                                  \
    _(Comm, Comm) _(Group, Group) _(Type, Datatype) _(Op, Op) _(Request, Request) _(Win, Win) _(File, File)   \
    _(Info, Info) _(Errhandler, Errhandler) _(Message, Message) _(Session, Session)

extern "C" {
using namespace mpiric::translate;
#include "generated/fortran_prototypes.inc"
#define CONVERSION(name, type)                                                                                \
    int C(MPI_##name##_c2f)(P##type);                                                                         \
    P##type C(MPI_##name##_f2c)(int);
CONVERTED_CLASSES(CONVERSION)
#undef CONVERSION
}

// Fortran's MPI_BOTTOM and its like: variables in common blocks, known by their addresses. The dynamic linker
// may have put them into the executable: they are reached as the program reaches them.
extern "C" {
#define COMMON(name, bytes) [[gnu::visibility("default")]] extern char name[bytes];
#if MPIRIC_IS(MPIRIC_PROGRAM) == 2
#define COMMONS(upper, lower)                                                                                 \
    COMMON(MPI_FORTRAN_##upper, 4) COMMON(mpi_fortran_##lower, 4) COMMON(mpi_fortran_##lower##_, 4) COMMON(mpi_fortran_##lower##__, 4)
COMMON_BLOCKS(COMMONS)
#else
[[gnu::visibility("default")]] extern char mpipriv1_[28], mpipriv2_[24], mpiprivc_[2], mpifcmb5_[4], mpifcmb9_[4], mpifcmba_[4];
[[gnu::visibility("default")]] extern int *MPI_UNWEIGHTED, *MPI_WEIGHTS_EMPTY;
#endif
}

namespace mpiric::translate {

#if MPIRIC_IS(MPIRIC_PROGRAM) == 2
#define IS(upper, lower)                                                                                      \
    inline bool is_##lower(const void* given) {                                                               \
        return given == mpi_fortran_##lower##_ || given == mpi_fortran_##lower##__ || given == mpi_fortran_##lower ||      \
               given == MPI_FORTRAN_##upper;                                                                  \
    }
COMMON_BLOCKS(IS)
#undef IS
inline bool is_buffer_automatic(const void*) { return false; }
inline int* unweighted() { return program::unweighted; }
inline int* weights_empty() { return program::weights_empty; }
#else
// COMMON /MPIPRIV1/ MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE and so on
inline bool is_bottom(const void* given) { return given == mpipriv1_; }
inline bool is_in_place(const void* given) { return given == mpipriv1_ + 4; }
inline bool is_status_ignore(const void* given) { return given == mpipriv1_ + 8; }
inline bool is_statuses_ignore(const void* given) { return given == mpipriv2_; }
inline bool is_errcodes_ignore(const void* given) { return given == mpipriv2_ + 20; }
inline bool is_argvs_null(const void* given) { return given == mpiprivc_; }
inline bool is_argv_null(const void* given) { return given == mpiprivc_ + 1; }
inline bool is_unweighted(const void* given) { return given == mpifcmb5_; }
inline bool is_weights_empty(const void* given) { return given == mpifcmb9_; }
inline bool is_buffer_automatic(const void* given) { return given == mpifcmba_; }
inline int* unweighted() { return MPI_UNWEIGHTED; }
inline int* weights_empty() { return MPI_WEIGHTS_EMPTY; }
#endif

inline void* in_buffer(const void* given) {
    if (is_bottom(given))
        return nullptr;
    return is_in_place(given) ? program::in_place : is_buffer_automatic(given) ? program::buffer_automatic : const_cast<void*>(given);
}
inline PStatus* in_status(PStatus* given) { return is_status_ignore(given) ? program::status_ignore : given; }
inline PStatus* in_statuses(PStatus* given) { return is_statuses_ignore(given) ? program::status_ignore : given; }
inline int* in_weights(const int* given) {
    return is_unweighted(given) ? unweighted() : is_weights_empty(given) ? weights_empty() : const_cast<int*>(given);
}

#define CONVERSION(name, type)                                                                               \
    inline PHandle<type> from_number(type, int number) { return C(MPI_##name##_f2c)(number); }               \
    inline int to_number(type, PHandle<type> handle) { return C(MPI_##name##_c2f)(handle); }
CONVERTED_CLASSES(CONVERSION)
#undef CONVERSION

template <class T> PHandle<T> handle(int number) {
    if constexpr (is_number<T>)
        return number;
    else
        return from_number(T{}, number);
}
template <class T> int number(PHandle<T> handle) {
    if constexpr (is_number<T>)
        return handle;
    else
        return to_number(T{}, handle);
}

/// A handle that the call makes.
template <class T> class NewNumber {
  public:
    explicit NewNumber(int* given) : given_(given) {}
    PHandle<T>* pointer() {
        if constexpr (is_number<T>)
            return given_;
        else
            return given_ ? &value_ : nullptr;
    }
    void done(int code) {
        if constexpr (!is_number<T>)
            if (code == 0 && given_)
                *given_ = number<T>(value_);
    }

  private:
    int* given_;
    PHandle<T> value_{};
};

/// A handle that the call may change.
template <class T> class ChangedNumber {
  public:
    explicit ChangedNumber(int* given) : given_(given) {
        if constexpr (!is_number<T>)
            before_ = value_ = handle<T>(*given);
    }
    PHandle<T>* pointer() {
        if constexpr (is_number<T>)
            return given_;
        else
            return &value_;
    }
    void done(int) {
        if constexpr (!is_number<T>)
            if (value_ != before_)
                *given_ = number<T>(value_);
    }

  private:
    int* given_;
    PHandle<T> before_{}, value_{};
};

/// An array of handles. Its length is asked for only where they are not Fortran's integers.
template <class T, bool is_read> class FortranHandles {
  public:
    template <class Length>
    FortranHandles(const int* given, Length length)
        : given_(const_cast<int*>(given)), count_(is_number<T> ? 0 : std::max<long>(length(), 0)),
          room_(count_) {
        for (long at = 0; at < count_; ++at)
            room_[at] = handle<T>(given_[at]);
    }
    PHandle<T>* pointer() {
        if constexpr (is_number<T>)
            return given_;
        else
            return room_.data();
    }
    void done() {
        for (long at = 0; at < count_; ++at)
            if (room_[at] != handle<T>(given_[at]))
                given_[at] = number<T>(room_[at]);
    }

  private:
    int* given_;
    long count_;
    Room<PHandle<T>> room_;
};

/// An array of LOGICAL: each compiler has its own .TRUE., whose lowest bit is set in all of them.
class Logicals {
  public:
    Logicals(const int* given, long count) : room_(count > 0 ? count : 0) {
        for (long at = 0; at < count; ++at)
            room_[at] = given[at] & 1;
    }
    const int* pointer() const { return room_.data(); }

  private:
    Room<int> room_;
};

/// Characters of Fortran without the blanks behind them.
class String {
  public:
    String(const char* given, long length, bool strips_leading = false) {
        while (length > 0 && given[length - 1] == ' ')
            --length;
        while (strips_leading && length > 0 && *given == ' ')
            ++given, --length;
        text_.assign(given, std::size_t(length));
    }
    const char* pointer() const { return text_.c_str(); }
    bool is_empty() const { return text_.empty(); }

  private:
    std::string text_;
};

/// Fills Fortran's characters up with blanks.
inline void write_characters(char* to, long length, const char* text) {
    const long taken = std::min(long(std::strlen(text)), length);
    std::memcpy(to, text, std::size_t(taken));
    std::memset(to + taken, ' ', std::size_t(length - taken));
}

/// Characters that the call writes.
template <int room> class Characters {
  public:
    Characters(char* given, int length) : given_(given), length_(length) {}
    char* pointer() { return text_; }
    void done(int code, int* written) {
        if (code != 0)
            return;
        write_characters(given_, length_, text_);
        if (written)
            *written = int(std::min<long>(*written, length_));
    }

  private:
    char* given_;
    long length_;
    char text_[room + 1] = {};
};

inline constexpr int in_status_error =
    program::error_values[18];  // MPI_ERR_IN_STATUS, by the order of the spec

inline void count_from_one(int* values, int count) {
    for (int at = 0; at < count; ++at)
        if (values[at] != program::UNDEFINED)
            ++values[at];
}
inline void answer(int* ierror, int code) {
    if (ierror)
        *ierror = code;
}

/// Ranks that a rank of a communicator talks to in a collective call.
long peers(int comm);
/// Its neighbours in the topology: the ranks that it sends to, or receives from.
template <bool is_sending> long neighbours(int comm);
/// Dimensions of a Cartesian communicator.
long dimensions(int comm);

}  // namespace mpiric::translate

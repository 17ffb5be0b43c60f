// Conversion of Fortran's arguments to C.
#pragma once

#include "fortran/sentinels.hpp"
#include "room.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace mpiric::translate {

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

// Translation of a call's arguments to the library, and of its results back to the program.
#pragma once

#include "library.hpp"
#include "room.hpp"
#include "values.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <map>
#include <mutex>
#include <vector>

namespace mpiric::translate {

// Arrays that the library may read after a call: they are kept until its operation is over.

struct KeptArrays {
    std::atomic<long> requests = 0;  ///< number of requests with kept arrays
    std::mutex changing;
    /// A library may give a request to one call before another thread has returned from the call that ended
    /// it, and one request to all operations that complete at once: the arrays of a request are a queue.
    std::map<LRequest, std::deque<std::vector<void*>>> of_requests;
};
inline KeptArrays kept_arrays;

/// Takes over `arrays` for a request, or frees them where the call has failed. `joins`: it has kept others.
inline void keep(int code, LRequest request, std::initializer_list<void*> arrays, bool joins) {
    if (code != 0) {
        for (void* array : arrays)
            std::free(array);
        return;
    }
    const std::lock_guard held(kept_arrays.changing);
    auto& queue = kept_arrays.of_requests[request];
    if (!joins || queue.empty()) {
        queue.emplace_back();
        kept_arrays.requests.fetch_add(1, std::memory_order_relaxed);
    }
    queue.back().insert(queue.back().end(), arrays);
}

/// Frees what has been kept longest for a request.
inline void let_go(LRequest request) {
    const std::lock_guard held(kept_arrays.changing);
    const auto found = kept_arrays.of_requests.find(request);
    if (found == kept_arrays.of_requests.end())
        return;
    for (void* array : found->second.front())
        std::free(array);
    found->second.pop_front();
    if (found->second.empty())
        kept_arrays.of_requests.erase(found);
    kept_arrays.requests.fetch_sub(1, std::memory_order_relaxed);
}

/// Called when a variable that held a handle gets another value: a request has ended, or been freed.
template <class T> [[gnu::always_inline]] inline void gone(LHandle<T> handle) {
    if constexpr (std::is_same_v<T, Request>)
        if (kept_arrays.requests.load(std::memory_order_relaxed) > 0) [[unlikely]]
            let_go(handle);
}

template <class T> class Handles {
  public:
    Handles(const PHandle<T>* given, long count, bool outlives_call = false)
        : given_(given), count_(given && count > 0 ? count : 0), room_(count_, outlives_call) {
        for (long at = 0; at < count_; ++at)
            room_[at] = in<T>(given[at]);
    }
    const LHandle<T>* pointer() const { return given_ ? room_.data() : nullptr; }
    /// The same array as another argument's if the program gave one: libraries compare addresses.
    const LHandle<T>* pointer(const Handles& other) const {
        return given_ == other.given_ && count_ <= other.count_ ? other.pointer() : pointer();
    }
    void* release() { return room_.release(); }

  private:
    const PHandle<T>* given_;
    long count_;
    Room<LHandle<T>> room_;
};

template <class T> class ChangedHandles {
  public:
    ChangedHandles(PHandle<T>* given, long count)
        : given_(given), count_(given && count > 0 ? count : 0), room_(count_) {
        for (long at = 0; at < count_; ++at)
            room_[at] = in<T>(given[at]);
    }
    ChangedHandles(const PHandle<T>* given, long count)
        : ChangedHandles(const_cast<PHandle<T>*>(given), count) {}
    LHandle<T>* pointer() { return given_ ? room_.data() : nullptr; }
    void done() {
        for (long at = 0; at < count_; ++at)
            if (const LHandle<T> before = in<T>(given_[at]); room_[at] != before) {
                gone<T>(before);
                given_[at] = out<T>(room_[at]);
            }
    }

  private:
    PHandle<T>* given_;
    long count_;
    Room<LHandle<T>> room_;
};

/// A handle that no library gives: a variable with this value has not been written by the call.
template <class Handle> Handle unwritten_handle() {
    if constexpr (std::is_same_v<Handle, int>)
        return unwritten;
    else
        return reinterpret_cast<Handle>(std::uintptr_t(2));
}

/// Also written where the call fails: libraries put a null handle there.
template <class T> class NewHandle {
  public:
    explicit NewHandle(PHandle<T>* given) : given_(given) {}
    LHandle<T>* pointer() { return given_ ? &value_ : nullptr; }
    void done() {
        if (given_ && value_ != unwritten_handle<LHandle<T>>())
            *given_ = out<T>(value_);
    }
    LHandle<T> value() const { return value_; }

  private:
    PHandle<T>* given_;
    LHandle<T> value_ = unwritten_handle<LHandle<T>>();
};

template <class T> class ChangedHandle {
  public:
    explicit ChangedHandle(PHandle<T>* given)
        : given_(given), before_(given ? in<T>(*given) : LHandle<T>{}), value_(before_) {}
    LHandle<T>* pointer() { return given_ ? &value_ : nullptr; }
    void done() {
        if (given_ && value_ != before_) {
            gone<T>(before_);
            *given_ = out<T>(value_);
        }
    }

  private:
    PHandle<T>* given_;
    LHandle<T> before_, value_;
};

inline void mark(LStatus& status) {
    status.MPI_SOURCE = status.MPI_ERROR = unwritten;
    status.set(unwritten_bytes, false);
}

/// Copies the fields of a status that the library has written, and nothing else: calls that complete one
/// operation leave MPI_ERROR alone, calls on files write the bytes only, and the end of a send sets whether
/// it was cancelled.
inline void copy_written(PStatus& to, const LStatus& from) {
    if (from.MPI_SOURCE != unwritten) {
        to.MPI_SOURCE = to_program_rank(from.MPI_SOURCE);
        to.MPI_TAG = to_program_tag(from.MPI_TAG);
    }
    const unsigned long long bytes = from.bytes();
    to.set(bytes == unwritten_bytes ? to.bytes() : bytes, from.cancelled());
    if (from.MPI_ERROR != unwritten)
        to.MPI_ERROR = to_program_error(from.MPI_ERROR);
}
inline void copy_given(LStatus& to, const PStatus& from) {
    to.MPI_SOURCE = to_library_rank(from.MPI_SOURCE);
    to.MPI_TAG = to_library_tag(from.MPI_TAG);
    to.MPI_ERROR = 0;  // no function reads it, and it may never have been written
    to.set(from.bytes(), from.cancelled());
}

class NewStatus {
  public:
    explicit NewStatus(PStatus* given) : given_(given) { mark(value_); }
    LStatus* pointer() {
        return given_ == program::status_ignore ? library::status_ignore : given_ ? &value_ : nullptr;
    }
    void done() {
        if (given_ && given_ != program::status_ignore)
            copy_written(*given_, value_);
    }

  private:
    PStatus* given_;
    LStatus value_;
};

class Statuses {
  public:
    Statuses(PStatus* given, long count)
        : given_(given), count_(given && given != program::status_ignore && count > 0 ? count : 0),
          room_(count_) {
        for (long at = 0; at < count_; ++at)
            mark(room_[at]);
    }
    LStatus* pointer() {
        return given_ == program::status_ignore ? library::status_ignore : given_ ? room_.data() : nullptr;
    }
    void done() {
        for (long at = 0; at < count_; ++at)
            copy_written(given_[at], room_[at]);
    }

  private:
    PStatus* given_;
    long count_;
    Room<LStatus> room_;
};

class GivenStatus {
  public:
    explicit GivenStatus(const PStatus* given) : given_(given) {
        if (given_ && given_ != program::status_ignore)
            copy_given(value_, *given_);
    }
    LStatus* pointer() {
        return given_ == program::status_ignore ? library::status_ignore : given_ ? &value_ : nullptr;
    }
    void write(PStatus* to) {
        if (given_ && given_ != program::status_ignore)
            to->set(value_.bytes(), value_.cancelled());
    }

  private:
    const PStatus* given_;
    LStatus value_{};
};

class Integers {
  public:
    template <class Convert>
    Integers(const int* given, long count, Convert&& convert) : given_(given), room_(count > 0 ? count : 0) {
        for (long at = 0; given && at < count; ++at)
            room_[at] = convert(given[at]);
    }
    const int* pointer() { return given_ ? room_.data() : nullptr; }

  private:
    const int* given_;
    Room<int> room_;
};

/// Integers that the library has written, in place.
template <class Convert> void each(int code, int* values, long count, Convert&& convert) {
    for (long at = 0; code == 0 && values && at < count; ++at)
        convert(values[at]);
}

/// A string whose room both sides know from their headers. A longer one is cut where it is prose; a name of
/// something that the program is to give back is refused.
template <int room, bool is_prose> class Text {
  public:
    explicit Text(char* given) : given_(given) {}
    char* pointer() { return given_ ? text_ : nullptr; }
    void done(int& code, int* length) {
        if (!given_ || code != 0)
            return;
        const std::size_t whole = strnlen(text_, sizeof text_ - 1);
        if (!is_prose && whole >= room) {
            code = library::ERR_OTHER;
            return;
        }
        const std::size_t taken = std::min<std::size_t>(whole, room - 1);
        std::memcpy(given_, text_, taken);
        given_[taken] = '\0';
        if (length)
            *length = int(taken);
    }

  private:
    char* given_;
    char text_[8193] = "";  // more than any family's longest
};

inline const void* in_buffer(const void* buffer) {
    return buffer == program::in_place ? library::in_place : buffer;
}
inline void* in_buffer(void* buffer) { return buffer == program::in_place ? library::in_place : buffer; }

/// The library's MPI_INFO_NULL, known once the library is open.
extern LInfo null_info;

/// MPI_T_PVAR_ALL_HANDLES of either side, known once the library is open.
[[gnu::visibility("hidden")]] extern void *program_all_handles, *library_all_handles;
/// A handle of a performance variable: an address on either side.
inline void* in_pvar(void* handle) { return handle == program_all_handles ? library_all_handles : handle; }

/// MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY of either side.
struct Weights {
    const int *unweighted, *empty;
};
[[gnu::visibility("hidden")]] extern Weights program_weights, library_weights;
inline const int* in_weights(const int* weights) {
    return weights == program_weights.unweighted ? library_weights.unweighted
           : weights == program_weights.empty    ? library_weights.empty
                                                 : weights;
}

/// Ranks that a rank of a communicator talks to in a collective call.
long peers(PComm comm);
/// Its neighbours in the topology: the ranks that it sends to, or receives from.
template <bool is_sending> long neighbours(PComm comm);

}  // namespace mpiric::translate

// Room for the values and texts of a call.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace mpiric::translate {

/// Ends the process with one sentence.
[[noreturn, gnu::format(printf, 1, 2)]] inline void give_up(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char text[1024];
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    std::fprintf(stderr, "mpiric: %s\n", text);
    _exit(127);
}

/// Room for as many values as a call needs: on the stack while they are few and need not outlive it.
template <class T> class Room {
  public:
    explicit Room(long count, bool outlives_call = false)
        : data_(count <= few && !outlives_call
                    ? small_
                    : static_cast<T*>(std::malloc(sizeof(T) * std::size_t(count > 0 ? count : 1)))) {
        if (!data_)
            give_up("out of memory for the %ld elements of an argument", count);
    }
    ~Room() {
        if (data_ != small_)
            std::free(static_cast<void*>(data_));
    }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    T* data() { return data_; }
    const T* data() const { return data_; }
    T& operator[](long at) { return data_[at]; }
    /// Gives away room that outlives the call: whoever takes it frees it.
    void* release() {
        void* const given = static_cast<void*>(data_);
        data_ = small_;
        return given;
    }

  private:
    static constexpr long few = 32;
    T small_[few];
    T* data_;
};

/// Texts as an array of C strings that ends with a null.
class Argv {
  public:
    explicit Argv(std::vector<std::string> texts) : texts_(std::move(texts)) {
        for (std::string& text : texts_)
            pointers_.push_back(text.data());
        pointers_.push_back(nullptr);
    }
    char** pointer() { return pointers_.data(); }

  private:
    std::vector<std::string> texts_;
    std::vector<char*> pointers_;
};

}  // namespace mpiric::translate

// Functions of the program that a library calls with nothing but its own arguments: each gets an entrance.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace mpiric::translate {

/// Entrances for functions, one for each function however often it is given. They load the function into a
/// register (r10) and jump to the receiver. Made by the page: code, and behind it the functions.
class Closures {
  public:
    explicit Closures(void (*receiver)()) noexcept : receiver_(receiver) {}
    /// The entrance of a function; null for null.
    void* entrance(void* function);

  private:
    void make_page();

    void (*receiver_)();
    std::mutex changing_;
    std::map<void*, void*> made_;
    char* page_ = nullptr;
    std::size_t used_ = 0;
};

/// Entrances that lead to `receiver`, a function of C, with the function as its last argument: in `reg`.
#define MPIRIC_CLOSURES(name, receiver, reg)                                                                 \
    [[gnu::naked]] void receiver##_entrance() { asm("mov %r10, %" reg "\n jmp " #receiver); }                \
    Closures name(&receiver##_entrance)

}  // namespace mpiric::translate

#include "closures.hpp"

#include "library.hpp"

#include <cstring>
#include <sys/mman.h>

namespace mpiric::translate {

constexpr std::size_t page_bytes = 4096, entrance_bytes = 16, on_a_page = 255;

void Closures::make_page() {
    void* at = mmap(nullptr, 2 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        give_up("out of memory for the entrance of a callback");
    page_ = static_cast<char*>(at);
    used_ = 0;
    std::memcpy(page_ + page_bytes, static_cast<void*>(&receiver_), sizeof receiver_);
    for (std::size_t which = 0; which < on_a_page; ++which) {
        // movq function(%rip), %r10 ; jmp *receiver(%rip)
        const int function = int(page_bytes + 8 * (which + 1) - (entrance_bytes * which + 7));
        const int receiver = int(page_bytes - (entrance_bytes * which + 13));
        unsigned char code[entrance_bytes] = {0x4c, 0x8b, 0x15, 0, 0, 0,    0,    0xff,
                                              0x25, 0,    0,    0, 0, 0x90, 0x90, 0x90};
        std::memcpy(code + 3, &function, 4);
        std::memcpy(code + 9, &receiver, 4);
        std::memcpy(page_ + entrance_bytes * which, code, entrance_bytes);
    }
    if (mprotect(page_, page_bytes, PROT_READ | PROT_EXEC) != 0)
        give_up("this system does not let a process make code, which callbacks of another ABI need");
}

void* Closures::entrance(void* function) {
    if (!function)
        return nullptr;
    const std::lock_guard held(changing_);
    void*& known = made_[function];
    if (!known) {
        if (!page_ || used_ == on_a_page)
            make_page();
        std::memcpy(page_ + page_bytes + 8 * (used_ + 1), static_cast<void*>(&function), sizeof function);
        known = page_ + entrance_bytes * used_++;
    }
    return known;
}

}  // namespace mpiric::translate

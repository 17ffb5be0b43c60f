// A program whose predefined handles are small numbers over a library where they are addresses of data: all
// other handles go through as they are.
#pragma once

#include "table.hpp"

namespace mpiric::translate {

inline constexpr std::uintptr_t small = 4096;
inline void* of_program[small];
inline Table table;
inline std::uintptr_t lowest = ~0ul, highest = 0;
inline void* null_handle[class_count];

inline void make_handles() { table.make(); }

template <class T> void add_predefined(PHandle<T> program, LHandle<T> library) {
    const auto value = reinterpret_cast<std::uintptr_t>(program);
    const auto address = reinterpret_cast<std::uintptr_t>(library);
    of_program[value % small] = library;
    if (!null_handle[T::index])
        null_handle[T::index] = library;  // the first of a class is its null
    if (!library)
        return;
    lowest = address < lowest ? address : lowest;
    highest = address > highest ? address : highest;
    table.learn(library, std::uint32_t(value));
}

template <class T> [[gnu::always_inline]] inline LHandle<T> in(PHandle<T> handle) {
    const auto value = reinterpret_cast<std::uintptr_t>(handle);
    if (value >= small) [[likely]]
        return handle;
    return of_program[value] ? of_program[value] : null_handle[T::index];
}

template <class T> [[gnu::always_inline]] inline PHandle<T> out(LHandle<T> handle) {
    const auto address = reinterpret_cast<std::uintptr_t>(handle);
    if (address - lowest > highest - lowest) [[likely]]
        return handle;
    const std::uint32_t value = table.known(handle);
    return value ? reinterpret_cast<void*>(std::uintptr_t(value)) : handle;
}

}  // namespace mpiric::translate

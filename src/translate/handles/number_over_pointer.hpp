// A program whose handles are numbers over a library whose handles are addresses.
#pragma once

#include "table.hpp"

namespace mpiric::translate {

inline Table table;
inline void* builtin[class_count][256];
inline void* null_handle[class_count];
inline constexpr std::uint32_t number_bits = 0x3ffffff;

inline void make_handles() { table.make(); }

template <class T> void add_predefined(PHandle<T> program, LHandle<T> library) {
    if constexpr (std::is_same_v<T, File>) {
        null_handle[T::index] = library;
    } else {
        const auto number = std::uint32_t(program);
        switch (number >> 30) {
        case 0:
            null_handle[T::index] = library;
            for (void*& known : builtin[T::index])  // no number leads nowhere
                known = known ? known : library;
            break;
        case 1:
            if (library)
                builtin[T::index][number & 0xff] = library;
            break;
        default:  // MPICH's types of a value and an index
            table.set(number & number_bits, library);
        }
        // A request and a message of the library are never the same object, but MPICH's nulls are one number.
        table.learn(library, number);
    }
}

template <class T> [[gnu::always_inline]] inline LHandle<T> in(PHandle<T> handle) {
    if constexpr (std::is_same_v<T, File>) {
        return handle ? handle : null_handle[T::index];
    } else {
        const auto number = std::uint32_t(handle);
        constexpr bool is_seldom_predefined = std::is_same_v<T, Request>;
        if (!is_seldom_predefined && number >> 30 == 1) [[likely]]
            return builtin[T::index][number & 0xff];
        if (number >> 30 == 2) [[likely]]
            if (void* const address = table.address(number & number_bits)) [[likely]]
                return address;
        return number >> 30 == 1 ? builtin[T::index][number & 0xff] : null_handle[T::index];
    }
}

template <class T> [[gnu::always_inline]] inline PHandle<T> out(LHandle<T> handle) {
    if constexpr (std::is_same_v<T, File>) {
        return handle == null_handle[T::index] ? nullptr : handle;
    } else {
        if (!handle || handle == null_handle[T::index])
            return int(T::kind << 26);
        const std::uint32_t value = table.value(handle);
        return int(value > number_bits ? value : 2u << 30 | T::kind << 26 | value);
    }
}

}  // namespace mpiric::translate

// A program whose predefined handles are small numbers and others addresses, over a library whose handles are
// numbers: other handles are passed unchanged, for the library's numbers are all large.
#pragma once

namespace mpiric::translate {

inline constexpr std::uintptr_t small = 4096;
inline std::uint32_t of_program[small];
struct Known {
    std::uint32_t library = absent_handle, program = 0;
};
inline Known builtin[class_count][256];
inline Known pair_types[16];
inline std::uint32_t null_handle[class_count];

inline void make_handles() {}

template <class T> void add_predefined(PHandle<T> program, LHandle<T> library) {
    const auto value = std::uint32_t(reinterpret_cast<std::uintptr_t>(program));
    if constexpr (std::is_same_v<T, File>) {
        null_handle[T::index] = value;
    } else {
        const auto number = std::uint32_t(library);
        of_program[value % small] = number;
        if (number >> 30 == 0) {
            if (!null_handle[T::index])
                null_handle[T::index] = value;  // the null leads its class; others are what the library lacks
        } else {
            Known& known = number >> 30 == 1 ? builtin[T::index][number & 0xff] : pair_types[number & 15];
            if (known.library == absent_handle)
                known = {number, value};
        }
    }
}

template <class T> [[gnu::always_inline]] inline LHandle<T> in(PHandle<T> handle) {
    const auto value = reinterpret_cast<std::uintptr_t>(handle);
    if constexpr (std::is_same_v<T, File>)
        return value < small ? nullptr : handle;
    else
        return int(value < small ? of_program[value] : value);
}

template <class T> PHandle<T> out(LHandle<T> handle) {
    if constexpr (std::is_same_v<T, File>) {
        return handle ? handle : reinterpret_cast<void*>(std::uintptr_t(null_handle[T::index]));
    } else {
        auto number = std::uint32_t(handle);
        if (number >> 30 == 0)
            number = null_handle[T::index];
        else if (number >> 30 == 1 && builtin[T::index][number & 0xff].library == number)
            number = builtin[T::index][number & 0xff].program;
        else if (std::is_same_v<T, Datatype> && (number & 0x3ffffff) < 16 &&
                 pair_types[number & 15].library == number)
            number = pair_types[number & 15].program;
        return reinterpret_cast<void*>(std::uintptr_t(number));
    }
}

}  // namespace mpiric::translate

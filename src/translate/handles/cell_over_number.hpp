// A program whose predefined handles are addresses of cells over a library whose handles are numbers: the
// cell holds the library's number; the handle of an object that is not predefined is the number itself. The
// upper two bits of MPICH's numbers are 0 for null handles, 1 for predefined objects, 2 and 3 for others. So
// numbers are 0x40000000 to 0xffffffff, and cells, in the shim's data, are below 1 GiB or above 4 GiB.
// A file is a pointer in MPICH, too.
#pragma once

namespace mpiric::translate {

inline void* builtin[class_count][256];
inline void* null_handle[class_count];
inline void* pair_types[16];

inline void make_handles() {}  // nothing to prepare; open.cpp calls it for each kind of handles

inline bool is_cell(const void* handle) {
    const auto value = reinterpret_cast<std::uintptr_t>(handle);
    return value >= 4096 && value - 0x40000000u >= 0xc0000000u;
}

template <class T> void add_predefined(PHandle<T> program, LHandle<T> library) {
    if constexpr (std::is_same_v<T, File>) {
        null_handle[T::index] = program;
    } else {
        const auto number = std::uint32_t(library);
        *static_cast<std::uint32_t*>(program) = number;
        void*& known = number >> 30 == 0   ? null_handle[T::index]
                       : number >> 30 == 1 ? builtin[T::index][number & 0xff]
                                           : pair_types[number & 15];
        if (!known)  // the first name of a number stays: others are aliases
            known = program;
    }
}

template <class T> [[gnu::always_inline]] inline LHandle<T> in(PHandle<T> handle) {
    if constexpr (std::is_same_v<T, File>) {
        return handle == null_handle[T::index] ? nullptr : handle;
    } else {
        const auto value = reinterpret_cast<std::uintptr_t>(handle);
        if (value - 0x40000000u < 0xc0000000u) [[likely]]  // no cell
            return int(value);
        return value < 4096 ? 0 : *static_cast<int*>(handle);
    }
}

template <class T> [[gnu::always_inline]] inline PHandle<T> out(LHandle<T> handle) {
    if constexpr (std::is_same_v<T, File>) {
        return handle ? handle : null_handle[T::index];
    } else {
        const auto number = std::uint32_t(handle);
        if (number >> 30 == 0 && null_handle[T::index])
            return null_handle[T::index];
        void* known = nullptr;
        if (number >> 30 == 1)
            known = builtin[T::index][number & 0xff];
        else if (std::is_same_v<T, Datatype> && number >> 30 != 0 && (number & 0x3ffffff) < 16)
            known = pair_types[number & 15];
        // Positions of a table repeat: the cell must hold this number.
        if (known && *static_cast<std::uint32_t*>(known) == number)
            return known;
        return reinterpret_cast<void*>(std::uintptr_t(number));
    }
}

}  // namespace mpiric::translate

// Integers of the interface from one family to the other.
#pragma once

#include "library.hpp"

#include <array>
#include <iterator>

namespace mpiric::translate {

inline constexpr int negatives = 32;

template <const auto& from, const auto& to> consteval bool is_same() {
    for (std::size_t at = 0; at < std::size(from); ++at)
        if (from[at] != to[at] && from[at] != absent && to[at] != absent)
            return false;
    return true;
}

/// A value of the program that has no meaning to the library, or another one, for each family has extensions
/// (MPICH's ways to split a communicator): every library refuses what it becomes. A stand-in that is itself
/// the library, over one of the program's family, makes of it what it was.
inline constexpr int foreign = INT_MIN + 4096, foreign_values = 4096;
constexpr bool is_foreign(int value) { return value >= foreign && value < foreign + foreign_values; }
constexpr int foreign_value(int value) {
    return value >= 0 && value < foreign_values ? foreign + value : invalid;
}

/// Whether every constant is negative, so that other values need not be looked at.
template <const auto& from> consteval bool is_negative() {
    for (const int value : from)
        if (value >= 0)
            return false;
    return true;
}

// Tables are looked up in functions of their own: the translations of calls, which are many, stay short.
template <const auto& from, const auto& to> [[gnu::const, gnu::noinline]] int look_up_for_library(int value) {
    for (std::size_t at = 0; at < std::size(from); ++at)
        if (from[at] == value && value != absent)
            return to[at] == absent ? foreign_value(value) : to[at];
    if (is_foreign(value))
        return value - foreign;
    for (const int taken : to)
        if (taken == value)
            return foreign_value(value);
    return value;
}
template <const auto& from, const auto& to> [[gnu::const, gnu::noinline]] int look_up_for_program(int value) {
    for (std::size_t at = 0; at < std::size(from); ++at)
        if (from[at] == value && value != absent)
            return to[at] == absent ? invalid : to[at];
    return value;
}

/// Whether all constants are just below 0, as with ranks and tags.
template <const auto& from> consteval bool is_just_negative() {
    for (const int value : from)
        if (value != absent && (value >= 0 || value < -negatives))
            return false;
    return true;
}
/// Translations of the numbers just below 0, -1 first. So translations of ranks call nothing.
template <const auto& from, const auto& to, bool for_library>
inline constexpr auto negatives_of = [] {
    std::array<int, negatives> result{};
    for (int at = 0; at < negatives; ++at) {
        const int value = -1 - at;
        result[std::size_t(at)] = value;
        for (std::size_t each = 0; for_library && each < std::size(to); ++each)
            if (to[each] == value)
                result[std::size_t(at)] = invalid;
        for (std::size_t each = std::size(from); each-- > 0;)
            if (from[each] == value)
                result[std::size_t(at)] = to[each] == absent ? invalid : to[each];
    }
    return result;
}();

/// Translates a constant of the program for the library. Constants that the library lacks, and values that
/// are constants of the library alone, become a value that it refuses.
template <const auto& from, const auto& to> [[gnu::always_inline]] inline int to_library(int value) {
    if constexpr (is_same<from, to>())
        return value;
    if (is_negative<from>() && is_negative<to>() && value >= 0) [[likely]]
        return value;
    if constexpr (is_just_negative<from>() && is_just_negative<to>())
        return value >= -negatives ? negatives_of<from, to, true>[std::size_t(-1 - value)] : value;
    return look_up_for_library<from, to>(value);
}

/// A constant of the library for the program; other values as they are.
template <const auto& from, const auto& to> [[gnu::always_inline]] inline int to_program(int value) {
    if constexpr (is_same<from, to>())
        return value;
    if (is_negative<from>() && value >= 0) [[likely]]
        return value;
    if constexpr (is_just_negative<from>())
        return value >= -negatives ? negatives_of<from, to, false>[std::size_t(-1 - value)] : value;
    return look_up_for_program<from, to>(value);
}

template <const auto& from, const auto& to> int bits(int value) {
    int result = 0;
    for (std::size_t at = 0; at < std::size(from); ++at)
        if (value & from[at]) {
            result |= to[at];
            value &= ~from[at];
        }
    // Bits that mean nothing to the program are left for the library to refuse.
    return value ? result | 1 << 30 : result;
}

#define ROLE(role)                                                                                           \
    [[gnu::always_inline]] inline int to_library_##role(int value) {                                         \
        return to_library<program::role##_values, library::role##_values>(value);                            \
    }                                                                                                        \
    [[gnu::always_inline]] inline int to_program_##role(int value) {                                         \
        return to_program<library::role##_values, program::role##_values>(value);                            \
    }
#define BITS(role)                                                                                           \
    inline int to_library_##role(int value) {                                                                \
        return bits<program::role##_values, library::role##_values>(value);                                  \
    }                                                                                                        \
    inline int to_program_##role(int value) {                                                                \
        return bits<library::role##_values, program::role##_values>(value);                                  \
    }
#include "generated/roles.inc"
#undef ROLE
#undef BITS

/// Error codes outside the classes of the standard have own numbers for the program, behind its last one.
int own_code(int library);
int library_code(int own);
/// The greatest code that the program has seen.
int last_code();

/// The other family's number of an error class: `absent` where it has none, `invalid` if none is meant.
template <const auto& from, const auto& to> int counterpart(int error_class) {
    for (std::size_t at = 0; at < std::size(from); ++at)
        if (from[at] == error_class && error_class != absent)
            return to[at];
    return invalid;
}
inline int library_class(int own) { return counterpart<program::error_values, library::error_values>(own); }
inline int program_class(int error_class) {
    return counterpart<library::error_values, program::error_values>(error_class);
}

[[gnu::noinline, gnu::cold]] inline int failure_to_program(int code) {
    const int known = program_class(code);
    return known == absent || known == invalid ? own_code(code) : known;
}
[[gnu::always_inline]] inline int to_program_error(int code) {
    return code == 0 ? 0 : failure_to_program(code);
}
inline int to_library_error(int code) {
    const int known = library_class(code);
    return known == absent ? library::ERR_OTHER : known == invalid ? library_code(code) : known;
}

/// Keyvals: the predefined ones are constants; of others the offset keeps them out of the way of these.
inline int to_library_keyval(int keyval) {
    for (std::size_t at = 0; at < std::size(program::keyval_values); ++at)
        if (program::keyval_values[at] == keyval)
            return library::keyval_values[at];
    return keyval - library::keyval_offset;
}
inline int to_program_keyval(int keyval) {
    for (std::size_t at = 0; at < std::size(library::keyval_values); ++at)
        if (library::keyval_values[at] == keyval)
            return program::keyval_values[at];
    return keyval + library::keyval_offset;
}

}  // namespace mpiric::translate

// Attributes: callbacks that copy and delete them, and predefined ones with integers of the interface.
#pragma once

#include "arguments.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <unordered_set>

namespace mpiric::translate {
namespace {

// Callbacks that the program has given with its keyvals, kept while the keyval or an attribute exists.

template <class T> using Copy = int(PHandle<T>, int, void*, void*, void*, int*);
template <class T> using Delete = int(PHandle<T>, int, void*, void*);

template <class T> struct Callbacks {
    Copy<T>* copy;
    Delete<T>* remove;
    void* extra;
    CopyProxy<PHandle<T>> copy_proxy = nullptr;  // proxy for functions in Fortran
    DeleteProxy<PHandle<T>> remove_proxy = nullptr;
    int keyval = 0;                       // number that the program knows
    std::atomic<bool> has_keyval = true;  // false after the program has freed it
    std::atomic<long> users = 1;          // the keyval and its attributes
};
// Callbacks of the latest keyval that this thread has made.
constinit thread_local void* last_callbacks = nullptr;

std::mutex keyvals_changing;
template <class T> std::map<int, Callbacks<T>*> entered;

template <class T> void enter(Callbacks<T>* made, int keyval) {
    made->keyval = keyval;
    const std::lock_guard held(keyvals_changing);
    entered<T>[keyval] = made;
}
/// The callbacks of a keyval, with one user more; null for a predefined keyval.
template <class T> Callbacks<T>* used(int keyval) {
    const std::lock_guard held(keyvals_changing);
    const auto found = entered<T>.find(keyval);
    if (found == entered<T>.end())
        return nullptr;
    found->second->users.fetch_add(1, std::memory_order_relaxed);
    return found->second;
}
/// One user less. A library gives the number of a keyval again only when none is left.
template <class T> void leave(Callbacks<T>* given) {
    if (!given)
        return;
    const std::lock_guard held(keyvals_changing);
    if (given->users.fetch_sub(1, std::memory_order_acq_rel) > 1)
        return;
    if (const auto found = entered<T>.find(given->keyval);
        found != entered<T>.end() && found->second == given)
        entered<T>.erase(found);
    if (last_callbacks == given)
        last_callbacks = nullptr;
    delete given;
}
/// A value that Fortran has given: there it is an integer, for C the address of one.
struct FortranValue {
    AttributeType type;
    long value;
};
std::mutex values_changing;
std::unordered_set<void*> values;  // all existing values: an attribute's value may be any address
std::atomic<bool> has_values = false;

FortranValue* fortran_value(void* value) {
    if (!has_values.load(std::memory_order_relaxed))
        return nullptr;
    const std::lock_guard held(values_changing);
    return values.contains(value) ? static_cast<FortranValue*>(value) : nullptr;
}
/// The same by the address of the integer, which is what C gets.
FortranValue* fortran_value_at(void* address) {
    return fortran_value(static_cast<char*>(address) - offsetof(FortranValue, value));
}
void* new_value(AttributeType type, long value) {
    if (type == attribute_pointer)
        return reinterpret_cast<void*>(value);
    auto* made = new FortranValue{type, value};
    const std::lock_guard held(values_changing);
    values.insert(made);
    has_values.store(true, std::memory_order_relaxed);
    return made;
}
void delete_value(FortranValue* value) {
    if (!value)
        return;
    {
        const std::lock_guard held(values_changing);
        values.erase(value);
    }
    delete value;
}

/// Predefined functions may be small numbers instead of functions: 0 copies nothing, 1 copies the value.
template <class Function> std::uintptr_t number(Function* function) {
    return reinterpret_cast<std::uintptr_t>(function);
}

template <class T> int copy(LHandle<T> from, int keyval, void* extra, void* value, void* result, int* flag) {
    auto& given = *static_cast<Callbacks<T>*>(extra);
    FortranValue* const fortran = fortran_value(value);
    const AttributeType type = fortran ? fortran->type : attribute_pointer;
    void* copied = fortran ? &fortran->value : value;
    int rc = 0;
    if (number(given.copy) <= 1) {
        *flag = number(given.copy) == 1;
    } else {
        const PHandle<T> translated = out<T>(from);
        const int own_keyval = to_program_keyval(keyval);
        const Outside outside;
        if (given.copy_proxy) {
            void* integer = fortran ? reinterpret_cast<void*>(fortran->value) : value;
            rc = given.copy_proxy(reinterpret_cast<void*>(given.copy), translated, own_keyval, given.extra,
                                  type, integer, &integer, flag);
            if (rc == 0 && *flag) {
                *static_cast<void**>(result) = new_value(type, reinterpret_cast<long>(integer));
                given.users.fetch_add(1, std::memory_order_relaxed);
            }
            return to_library_error(rc);
        }
        rc = given.copy(translated, own_keyval, given.extra, copied, static_cast<void*>(&copied), flag);
    }
    if (rc == 0 && *flag) {
        const bool is_same = fortran && copied == &fortran->value;
        *static_cast<void**>(result) = is_same ? new_value(type, fortran->value) : copied;
        given.users.fetch_add(1, std::memory_order_relaxed);
    }
    return to_library_error(rc);
}
template <class T> int remove(LHandle<T> from, int keyval, void* value, void* extra) {
    auto& given = *static_cast<Callbacks<T>*>(extra);
    FortranValue* const fortran = fortran_value(value);
    int rc = 0;
    if (number(given.remove) > 1) {
        const PHandle<T> translated = out<T>(from);
        const int own_keyval = to_program_keyval(keyval);
        const Outside outside;
        void* const integer = fortran ? reinterpret_cast<void*>(fortran->value) : value;
        rc = given.remove_proxy
                 ? given.remove_proxy(reinterpret_cast<void*>(given.remove), translated, own_keyval,
                                      fortran ? fortran->type : attribute_pointer, integer, given.extra)
                 : given.remove(translated, own_keyval, fortran ? &fortran->value : value, given.extra);
    }
    if (rc == 0) {
        delete_value(fortran);
        leave(&given);
    }
    return to_library_error(rc);
}

/// Where the program's value of a constant is, which the program may read at any time; null for no constant.
template <const auto& from, const auto& to> int* constant(int value) {
    for (std::size_t at = 0; at < std::size(from); ++at)
        if (from[at] == value && to[at] != absent)
            return const_cast<int*>(&to[at]);
    return nullptr;
}

/// The program's value of a predefined attribute; null if it is the same on both sides.
int* translated(int keyval, int value) {
    static std::atomic<int> last = 0;
    const auto is = [keyval](int predefined) { return predefined != absent && keyval == predefined; };
    // In the order of the spec: KEYVAL_INVALID TAG_UB HOST IO WTIME_IS_GLOBAL UNIVERSE_SIZE LASTUSEDCODE …
    const auto& keyvals = program::keyval_values;
    if (is(keyvals[2]) || is(keyvals[3]))
        return constant<library::rank_values, program::rank_values>(value);
    if (is(keyvals[6])) {
        last = last_code();
        return reinterpret_cast<int*>(&last);
    }
    if (is(keyvals[11]))
        return constant<library::flavor_values, program::flavor_values>(value);
    if (is(keyvals[12]))
        return constant<library::model_values, program::model_values>(value);
    return nullptr;
}

template <Function function, class T>
int get_attribute(PHandle<T> handle, int keyval, void* value, int* flag) {
    const Inside inside;
    const int rc = original<function, int(LHandle<T>, int, void*, int*)>()(
        in<T>(handle), to_library_keyval(keyval), value, flag);
    if (rc == 0 && value && flag && *flag) {
        int*& given = *static_cast<int**>(value);
        for (const int predefined : program::keyval_values)
            if (predefined == keyval && given)
                if (int* own = translated(keyval, *given))
                    given = own;
        if (FortranValue* fortran = fortran_value(given))
            given = reinterpret_cast<int*>(&fortran->value);
    }
    return to_program_error(rc);
}
constexpr auto t_MPI_Comm_get_attr = &get_attribute<F_MPI_Comm_get_attr, Comm>;
constexpr auto t_MPI_Attr_get = &get_attribute<F_MPI_Attr_get, Comm>;
constexpr auto t_MPI_Type_get_attr = &get_attribute<F_MPI_Type_get_attr, Datatype>;
constexpr auto t_MPI_Win_get_attr = &get_attribute<F_MPI_Win_get_attr, Win>;

template <Function function, class T>
int create_keyval(Copy<T>* copy_, Delete<T>* remove_, int* keyval, void* extra) {
    const Inside inside;
    auto* const made = new Callbacks<T>{copy_, remove_, extra};
    const int rc = original<function, int(void*, void*, int*, void*)>()(
        reinterpret_cast<void*>(&copy<T>), reinterpret_cast<void*>(&remove<T>), keyval, made);
    each(rc, keyval, 1, [](int& value) { value = to_program_keyval(value); });
    if (rc == 0)
        enter<T>(made, *keyval);
    else
        leave(made);
    last_callbacks = rc == 0 ? made : nullptr;
    return to_program_error(rc);
}
constexpr auto t_MPI_Comm_create_keyval = &create_keyval<F_MPI_Comm_create_keyval, Comm>;
constexpr auto t_MPI_Keyval_create = &create_keyval<F_MPI_Keyval_create, Comm>;
constexpr auto t_MPI_Type_create_keyval = &create_keyval<F_MPI_Type_create_keyval, Datatype>;
constexpr auto t_MPI_Win_create_keyval = &create_keyval<F_MPI_Win_create_keyval, Win>;

// Another thread may be given the same number before the call returns, so the callbacks are looked up before.
template <Function function, class T> int free_keyval(int* keyval) {
    const Inside inside;
    Callbacks<T>* const given = keyval ? used<T>(*keyval) : nullptr;
    int changed = keyval ? to_library_keyval(*keyval) : 0;
    const int rc = original<function, int(int*)>()(keyval ? &changed : nullptr);
    if (keyval)
        *keyval = to_program_keyval(changed);
    // MPICH lets a keyval be freed again while attributes are left.
    if (rc == 0 && given && given->has_keyval.exchange(false))
        leave(given);
    leave(given);
    return to_program_error(rc);
}
constexpr auto t_MPI_Comm_free_keyval = &free_keyval<F_MPI_Comm_free_keyval, Comm>;
constexpr auto t_MPI_Keyval_free = &free_keyval<F_MPI_Keyval_free, Comm>;
constexpr auto t_MPI_Type_free_keyval = &free_keyval<F_MPI_Type_free_keyval, Datatype>;
constexpr auto t_MPI_Win_free_keyval = &free_keyval<F_MPI_Win_free_keyval, Win>;

// The attribute may be gone again, by another thread, before the call returns: it is counted before.
template <Function function, class T> int set_attribute(PHandle<T> handle, int keyval, void* value) {
    const Inside inside;
    Callbacks<T>* const given = used<T>(keyval);
    const int rc =
        original<function, int(LHandle<T>, int, void*)>()(in<T>(handle), to_library_keyval(keyval), value);
    if (rc != 0)
        leave(given);
    return to_program_error(rc);
}
constexpr auto t_MPI_Comm_set_attr = &set_attribute<F_MPI_Comm_set_attr, Comm>;
constexpr auto t_MPI_Attr_put = &set_attribute<F_MPI_Attr_put, Comm>;
constexpr auto t_MPI_Type_set_attr = &set_attribute<F_MPI_Type_set_attr, Datatype>;
constexpr auto t_MPI_Win_set_attr = &set_attribute<F_MPI_Win_set_attr, Win>;

}  // namespace
}  // namespace mpiric::translate

// Callbacks that the program has given with its keyvals, each kept while the keyval or an attribute of it
// exists.
#pragma once

#include "attribute_types.hpp"
#include "pair.hpp"

#include <atomic>
#include <map>
#include <mutex>

namespace mpiric::translate {
namespace {

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
/// The program has freed a keyval, of which `given` is used meanwhile. MPICH lets that be done again while
/// attributes are left.
template <class T> void leave_keyval(Callbacks<T>* given) {
    if (given && given->has_keyval.exchange(false))
        leave(given);
}

}  // namespace
}  // namespace mpiric::translate

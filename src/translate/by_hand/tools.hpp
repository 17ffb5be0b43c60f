// The tools interface: variables and events that are bound to objects, and functions that events call.
#pragma once

#include "arguments.hpp"
#include "closures.hpp"

namespace mpiric::translate {
namespace {

/// The object that a variable or an event is bound to: the address of a handle, whose class the library says.
class BoundObject {
  public:
    BoundObject(int bind, void* given) {
        if (!given)
            return;
        const auto& binds = library::bind_values;  // order of the spec
        bool is_known = false;
        const auto convert = [&](std::size_t at, auto* of_class) {
            using T = std::remove_pointer_t<decltype(of_class)>;
            if (binds[at] == absent || binds[at] != bind)
                return;
            const LHandle<T> handle = in<T>(*static_cast<PHandle<T>*>(given));
            static_assert(sizeof handle <= sizeof handle_);
            std::memcpy(&handle_, static_cast<const void*>(&handle), sizeof handle);
            is_known = true;
        };
        convert(1, static_cast<Comm*>(nullptr));
        convert(2, static_cast<Datatype*>(nullptr));
        convert(3, static_cast<Errhandler*>(nullptr));
        convert(4, static_cast<File*>(nullptr));
        convert(5, static_cast<Group*>(nullptr));
        convert(6, static_cast<Op*>(nullptr));
        convert(7, static_cast<Request*>(nullptr));
        convert(8, static_cast<Win*>(nullptr));
        convert(9, static_cast<Message*>(nullptr));
        convert(10, static_cast<Info*>(nullptr));
        convert(11, static_cast<Session*>(nullptr));
        pointer_ = is_known ? &handle_ : given;
    }
    void* pointer() const { return pointer_; }

  private:
    std::uintptr_t handle_ = 0;
    void* pointer_ = nullptr;
};

int t_MPI_T_cvar_handle_alloc(int index, void* object, void** handle, int* count) {
    const Inside inside;
    int bind = library::bind_values[0];
    const int rc = original<F_MPI_T_cvar_get_info,
                            int(int, char*, int*, int*, LDatatype*, void**, char*, int*, int*, int*)>()(
        index, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &bind, nullptr);
    BoundObject bound(rc == 0 ? bind : library::bind_values[0], object);
    return to_program_error(original<F_MPI_T_cvar_handle_alloc, int(int, void*, void**, int*)>()(
        index, bound.pointer(), handle, count));
}
int t_MPI_T_pvar_handle_alloc(void* session, int index, void* object, void** handle, int* count) {
    const Inside inside;
    int bind = library::bind_values[0];
    const int rc = original<F_MPI_T_pvar_get_info, int(int, char*, int*, int*, int*, LDatatype*, void**,
                                                       char*, int*, int*, int*, int*, int*)>()(
        index, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &bind, nullptr,
        nullptr, nullptr);
    BoundObject bound(rc == 0 ? bind : library::bind_values[0], object);
    return to_program_error(original<F_MPI_T_pvar_handle_alloc, int(void*, int, void*, void**, int*)>()(
        session, index, bound.pointer(), handle, count));
}

int t_MPI_T_event_get_info(int index, char* name, int* name_length, int* verbosity, PDatatype* types,
                           long* displacements, int* count, void** enumeration, PInfo* info,
                           char* description, int* description_length, int* bind) {
    const Inside inside;
    const long room = types && count ? *count : 0;
    Room<LDatatype> types_(room);
    NewHandle<Info> info_(info);
    const int rc = original<F_MPI_T_event_get_info, int(int, char*, int*, int*, LDatatype*, long*, int*,
                                                        void**, LInfo*, char*, int*, int*)>()(
        index, name, name_length, verbosity, types ? types_.data() : nullptr, displacements, count,
        enumeration, info_.pointer(), description, description_length, bind);
    for (long at = 0; rc == 0 && at < room && at < *count; ++at)
        types[at] = out<Datatype>(types_[at]);
    each(rc, verbosity, 1, [](int& value) { value = to_program_verbosity(value); });
    each(rc, bind, 1, [](int& value) { value = to_program_bind(value); });
    if (rc == 0)
        info_.done();
    return to_program_error(rc);
}
int t_MPI_T_event_handle_alloc(int index, void* object, PInfo info, void** registration) {
    const Inside inside;
    int bind = library::bind_values[0];
    const int rc = original<F_MPI_T_event_get_info, int(int, char*, int*, int*, LDatatype*, long*, int*,
                                                        void**, LInfo*, char*, int*, int*)>()(
        index, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
        &bind);
    BoundObject bound(rc == 0 ? bind : library::bind_values[0], object);
    return to_program_error(original<F_MPI_T_event_handle_alloc, int(int, void*, LInfo, void**)>()(
        index, bound.pointer(), in<Info>(info), registration));
}

using EventFunction = void(void* event, void* registration, int safety, void* state);
using FreeFunction = void(void* registration, int safety, void* state);
using DroppedFunction = void(long long count, void* registration, int source, int safety, void* state);

extern "C" [[gnu::used]] void mpiric_event_happened(void* event, void* registration, int safety, void* state,
                                                    EventFunction* function) {
    const Outside outside;
    function(event, registration, to_program_cb_safety(safety), state);
}
MPIRIC_CLOSURES(events, mpiric_event_happened, "r8");

extern "C" [[gnu::used]] void mpiric_event_freed(void* registration, int safety, void* state,
                                                 FreeFunction* function) {
    const Outside outside;
    function(registration, to_program_cb_safety(safety), state);
}
MPIRIC_CLOSURES(freed, mpiric_event_freed, "rcx");

extern "C" [[gnu::used]] void mpiric_events_dropped(long long count, void* registration, int source,
                                                    int safety, void* state, DroppedFunction* function) {
    const Outside outside;
    function(count, registration, source, to_program_cb_safety(safety), state);
}
MPIRIC_CLOSURES(dropped, mpiric_events_dropped, "r9");

int t_MPI_T_event_register_callback(void* registration, int safety, PInfo info, void* state,
                                    EventFunction* function) {
    const Inside inside;
    void* entrance = events.entrance(reinterpret_cast<void*>(function));
    return to_program_error(original<F_MPI_T_event_register_callback, int(void*, int, LInfo, void*, void*)>()(
        registration, to_library_cb_safety(safety), in<Info>(info), state, entrance));
}
int t_MPI_T_event_handle_free(void* registration, void* state, FreeFunction* function) {
    const Inside inside;
    void* entrance = freed.entrance(reinterpret_cast<void*>(function));
    return to_program_error(
        original<F_MPI_T_event_handle_free, int(void*, void*, void*)>()(registration, state, entrance));
}
int t_MPI_T_event_set_dropped_handler(void* registration, DroppedFunction* function) {
    const Inside inside;
    void* entrance = dropped.entrance(reinterpret_cast<void*>(function));
    return to_program_error(
        original<F_MPI_T_event_set_dropped_handler, int(void*, void*)>()(registration, entrance));
}

}  // namespace
}  // namespace mpiric::translate

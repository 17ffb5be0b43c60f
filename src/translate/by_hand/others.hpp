// Functions whose arguments are not what their types say: codes, buffers of the library, contents of types,
// Fortran's handles.
#pragma once

#include "arguments.hpp"

#include <mutex>
#include <utility>
#include <vector>

namespace mpiric::translate {
namespace {

struct Codes {
    /// Codes of the library by their place: the program's number of it is that many behind its last one.
    std::vector<int> list;
    std::mutex changing;
};
Codes codes;
constexpr std::size_t most_codes = 1u << 20;  // MPICH makes a code for each place where an error happened

}  // namespace

inline int own_code(int code) {
    const std::lock_guard held(codes.changing);
    const auto found = std::find(codes.list.begin(), codes.list.end(), code);
    if (found == codes.list.end() && codes.list.size() == most_codes)
        return program::ERR_OTHER;
    const auto at = found - codes.list.begin();
    if (found == codes.list.end())
        codes.list.push_back(code);
    return program::ERR_LASTCODE + 1 + int(at);
}
inline int library_code(int own) {
    const std::lock_guard held(codes.changing);
    const long at = long(own) - program::ERR_LASTCODE - 1;
    return at >= 0 && std::size_t(at) < codes.list.size() ? codes.list[std::size_t(at)] : invalid;
}
inline int last_code() {
    const std::lock_guard held(codes.changing);
    return program::ERR_LASTCODE + int(codes.list.size());
}

namespace {

int t_MPI_Abort(PComm comm, int code) {
    const Inside inside;
    return to_program_error(original<F_MPI_Abort, int(LComm, int)>()(in<Comm>(comm), code));
}
/// A class is its own class, also if the library lacks it. The library does not know the number of a class
/// that only the program's family has.
int t_MPI_Error_class(int code, int* errorclass) {
    const Inside inside;
    const int rc = original<F_MPI_Error_class, int(int, int*)>()(to_library_error(code), errorclass);
    each(rc, errorclass, 1, [code](int& value) {
        value = library_class(code) != invalid   ? code
                : program_class(value) == absent ? program::ERR_OTHER
                                                 : to_program_error(value);
    });
    return to_program_error(rc);
}
int t_MPI_Error_string(int code, char* string, int* length) {
    const Inside inside;
    Text<program::MAX_ERROR_STRING, true> text(string);
    int rc =
        original<F_MPI_Error_string, int(int, char*, int*)>()(to_library_error(code), text.pointer(), length);
    text.done(rc, length);
    return to_program_error(rc);
}

int t_MPI_Pcontrol(int level, ...) {
    const Inside inside;
    return to_program_error(original<F_MPI_Pcontrol, int(int, ...)>()(level));
}
/// A program that sees a version uses its constants, so it never sees one newer than its ABI.
int t_MPI_Get_version(int* version, int* subversion) {
    const Inside inside;
    const int rc = original<F_MPI_Get_version, int(int*, int*)>()(version, subversion);
    const bool is_known = rc == 0 && version && subversion;
    if (is_known && !is_below_another &&
        std::pair(*version, *subversion) > std::pair(program::VERSION, program::SUBVERSION)) {
        *version = program::VERSION;
        *subversion = program::SUBVERSION;
    }
    return to_program_error(rc);
}
int t_MPI_Abi_get_version(int* major, int* minor) {
    const bool is_standard = program::buffer_automatic && !program::weights_are_data;
    *major = is_standard ? 1 : -1;
    *minor = is_standard ? 0 : -1;
    return 0;
}

template <Function function, class Size, class... Object>
int attach(PHandle<Object>... handle, void* buffer, Size size) {
    const Inside inside;
    const bool is_automatic = program::buffer_automatic && buffer == program::buffer_automatic;
    buffer = is_automatic ? library::buffer_automatic : buffer;
    if (is_automatic && !buffer)
        return refuse(function, "the library has no MPI_BUFFER_AUTOMATIC");
    return to_program_error(
        original<function, int(LHandle<Object>..., void*, Size)>()(in<Object>(handle)..., buffer, size));
}
template <Function function, class Size, class... Object>
int detach(PHandle<Object>... handle, void* address, Size* size) {
    const Inside inside;
    const int rc =
        original<function, int(LHandle<Object>..., void*, Size*)>()(in<Object>(handle)..., address, size);
    if (rc == 0 && address && library::buffer_automatic &&
        *static_cast<void**>(address) == library::buffer_automatic)
        *static_cast<void**>(address) = program::buffer_automatic;
    return to_program_error(rc);
}
using Large = long long;
constexpr auto t_MPI_Buffer_attach = &attach<F_MPI_Buffer_attach, int>;
constexpr auto t_MPI_Buffer_attach_c = &attach<F_MPI_Buffer_attach_c, Large>;
constexpr auto t_MPI_Comm_attach_buffer = &attach<F_MPI_Comm_attach_buffer, int, Comm>;
constexpr auto t_MPI_Comm_attach_buffer_c = &attach<F_MPI_Comm_attach_buffer_c, Large, Comm>;
constexpr auto t_MPI_Session_attach_buffer = &attach<F_MPI_Session_attach_buffer, int, Session>;
constexpr auto t_MPI_Session_attach_buffer_c = &attach<F_MPI_Session_attach_buffer_c, Large, Session>;
constexpr auto t_MPI_Buffer_detach = &detach<F_MPI_Buffer_detach, int>;
constexpr auto t_MPI_Buffer_detach_c = &detach<F_MPI_Buffer_detach_c, Large>;
constexpr auto t_MPI_Comm_detach_buffer = &detach<F_MPI_Comm_detach_buffer, int, Comm>;
constexpr auto t_MPI_Comm_detach_buffer_c = &detach<F_MPI_Comm_detach_buffer_c, Large, Comm>;
constexpr auto t_MPI_Session_detach_buffer = &detach<F_MPI_Session_detach_buffer, int, Session>;
constexpr auto t_MPI_Session_detach_buffer_c = &detach<F_MPI_Session_detach_buffer_c, Large, Session>;

/// Makes the constants among the integers of a subarray or of a distributed array the program's. Of one with
/// large counts the sizes are among these.
void translate_contents(int combiner, int* integers, long count, bool has_sizes) {
    const int subarray = library::combiner_values[10], distributed = library::combiner_values[11];
    if ((combiner != subarray && combiner != distributed) || count < 1)
        return;
    integers[count - 1] = to_program_order(integers[count - 1]);  // the last is the order of both
    const long dimensions = combiner == distributed && count > 2 ? integers[2] : 0;
    const long first = 3 + (has_sizes ? dimensions : 0), behind = first + dimensions;
    for (long at = first; at < behind && at < count; ++at)
        integers[at] = to_program_distribution(integers[at]);
    for (long at = behind; at < behind + dimensions && at < count; ++at)
        integers[at] = to_program_distribution_argument(integers[at]);
}

int t_MPI_Type_get_contents(PDatatype datatype, int max_integers, int max_addresses, int max_datatypes,
                            int* integers, long* addresses, PDatatype* datatypes) {
    const Inside inside;
    const LDatatype type = in<Datatype>(datatype);
    int has_integers = 0, has_addresses = 0, has_types = 0, combiner = 0;
    int rc = original<F_MPI_Type_get_envelope, int(LDatatype, int*, int*, int*, int*)>()(
        type, &has_integers, &has_addresses, &has_types, &combiner);
    if (rc != 0)
        return to_program_error(rc);
    const int types = std::min(max_datatypes, has_types);  // a library may go through all of the room
    Room<LDatatype> room(types);
    rc = original<F_MPI_Type_get_contents, int(LDatatype, int, int, int, int*, long*, LDatatype*)>()(
        type, max_integers, max_addresses, types, integers, addresses, room.data());
    for (int at = 0; rc == 0 && at < types; ++at)
        datatypes[at] = out<Datatype>(room[at]);
    if (rc == 0 && integers)
        translate_contents(combiner, integers, std::min(max_integers, has_integers), true);
    return to_program_error(rc);
}
int t_MPI_Type_get_contents_c(PDatatype datatype, long long max_integers, long long max_addresses,
                              long long max_counts, long long max_datatypes, int* integers, long* addresses,
                              long long* counts, PDatatype* datatypes) {
    const Inside inside;
    const LDatatype type = in<Datatype>(datatype);
    long long has_integers = 0, has_addresses = 0, has_counts = 0, has_types = 0;
    int combiner = 0;
    int rc = original<F_MPI_Type_get_envelope_c,
                      int(LDatatype, long long*, long long*, long long*, long long*, int*)>()(
        type, &has_integers, &has_addresses, &has_counts, &has_types, &combiner);
    if (rc != 0)
        return to_program_error(rc);
    const long long types = std::min(max_datatypes, has_types);
    Room<LDatatype> room(types);
    rc = original<F_MPI_Type_get_contents_c, int(LDatatype, long long, long long, long long, long long, int*,
                                                 long*, long long*, LDatatype*)>()(
        type, max_integers, max_addresses, max_counts, types, integers, addresses, counts, room.data());
    for (long long at = 0; rc == 0 && at < types; ++at)
        datatypes[at] = out<Datatype>(room[at]);
    if (rc == 0 && integers)
        translate_contents(combiner, integers, std::min(max_integers, has_integers), has_counts == 0);
    return to_program_error(rc);
}

long t_MPI_Aint_add(long base, long displacement) { return base + displacement; }
long t_MPI_Aint_diff(long first, long second) { return first - second; }

template <int PStatus::* field> int get_field(const PStatus* status, int* value) {
    return *value = status->*field, 0;
}
template <int PStatus::* field> int set_field(PStatus* status, int value) {
    return status->*field = value, 0;
}
constexpr auto t_MPI_Status_get_source = &get_field<&PStatus::MPI_SOURCE>;
constexpr auto t_MPI_Status_set_source = &set_field<&PStatus::MPI_SOURCE>;
constexpr auto t_MPI_Status_get_tag = &get_field<&PStatus::MPI_TAG>;
constexpr auto t_MPI_Status_set_tag = &set_field<&PStatus::MPI_TAG>;
constexpr auto t_MPI_Status_get_error = &get_field<&PStatus::MPI_ERROR>;
constexpr auto t_MPI_Status_set_error = &set_field<&PStatus::MPI_ERROR>;

// Fortran's form of a status, of either kind, is the program's C status.
int copy_status(const void* from, void* to) {
    std::memcpy(to, from, sizeof(PStatus));
    return 0;
}
constexpr auto t_MPI_Status_c2f = &copy_status, t_MPI_Status_f2c = &copy_status;
constexpr auto t_MPI_Status_c2f08 = &copy_status, t_MPI_Status_f082c = &copy_status;
constexpr auto t_MPI_Status_f2f08 = &copy_status, t_MPI_Status_f082f = &copy_status;

// The library's numbers are shifted behind the numbers of predefined handles.
constexpr int fortran_offset = 4096;

/// Calls a conversion of the library. MPICH's numbers need none, but for files.
template <class T> int ask_c2f(LHandle<T> handle) {
    return reinterpret_cast<int (*)(LHandle<T>)>(mpiric_originals[2UL * T::c2f])(handle);
}
template <class T> LHandle<T> ask_f2c(int number) {
    return reinterpret_cast<LHandle<T> (*)(int)>(mpiric_originals[2UL * T::f2c])(number);
}

/// Fortran's integers of predefined handles, if they differ from the handles themselves, indexed by integer;
/// in a cell, the integer plus one follows the library's handle.
inline PHandle<Comm> of_fortran[class_count][128];
template <class T> void add_fortran_number(void* cell, int number) {
    static_cast<int*>(cell)[1] = number + 1;
    std::memcpy(&of_fortran[T::index][number], &cell, sizeof cell);
}
template <class T> int predefined_number(PHandle<T> handle) {
    if constexpr (!program::has_cells)
        return -1;
    else if constexpr (std::is_same_v<T, File>)
        return handle == null_handle[T::index] ? 0 : -1;
    else
        return is_cell(handle) ? static_cast<int*>(handle)[1] - 1 : -1;
}

template <class T> int c2f(PHandle<T> handle) {
    const Inside inside;
    if (const int predefined = predefined_number<T>(handle); predefined >= 0)
        return predefined;
    if constexpr (std::is_same_v<T, File>)
        return program::has_numbers && !handle ? 0 : ask_c2f<T>(in<T>(handle)) + fortran_offset;
    else if constexpr (program::has_numbers)
        return handle;
    else if constexpr (library::has_numbers)
        return in<T>(handle);
    else
        return ask_c2f<T>(in<T>(handle)) + fortran_offset;
}
template <class T> PHandle<T> f2c(int number) {
    const Inside inside;
    if constexpr (program::has_cells)
        if (number >= 0 && number < fortran_offset)
            return number < 128 ? of_fortran[T::index][number] : nullptr;
    if constexpr (std::is_same_v<T, File>)
        return program::has_numbers && !number ? nullptr : out<T>(ask_f2c<T>(number - fortran_offset));
    else if constexpr (program::has_numbers)
        return number;
    else if constexpr (library::has_numbers)
        return out<T>(number);
    else
        return out<T>(ask_f2c<T>(number - fortran_offset));
}
// MPI 5: predefined handles of the standard ABI are their own numbers.
template <class T> int toint(PHandle<T> handle) {
    if constexpr (!std::is_same_v<PHandle<T>, int>)
        if (program::weights_are_data == false && reinterpret_cast<std::uintptr_t>(handle) < 4096)
            return int(reinterpret_cast<std::uintptr_t>(handle));
    return c2f<T>(handle);
}
template <class T> PHandle<T> fromint(int number) {
    if constexpr (!std::is_same_v<PHandle<T>, int>)
        if (number >= 0 && number < 4096 && program::buffer_automatic)
            return reinterpret_cast<PHandle<T>>(std::uintptr_t(unsigned(number)));
    return f2c<T>(number);
}

}  // namespace
}  // namespace mpiric::translate

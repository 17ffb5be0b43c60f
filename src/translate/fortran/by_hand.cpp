// Functions whose arguments in Fortran differ from C: no arguments of main, arrays of characters, and the
// calls of MPI-1 that put an address into an INTEGER.
// clang-format off

#include "fortran/convert.hpp"

#include <deque>
#include <vector>

namespace mpiric::translate {

FORTRAN(MPI_Init)(int* ierror) { answer(ierror, C(MPI_Init)(nullptr, nullptr)); }
FORTRAN(MPI_Init_thread)(const int* required, int* provided, int* ierror) {
    answer(ierror, C(MPI_Init_thread)(nullptr, nullptr, *required, provided));
}
extern "C" int C(MPI_Pcontrol)(int, ...);
FORTRAN(MPI_Pcontrol)(const int* level) { C(MPI_Pcontrol)(*level); }
FORTRAN(MPI_F_sync_reg)(void*) {}

#define VALUE(type, name) extern "C" [[gnu::used]] [[gnu::visibility("hidden")]] type f_##name
VALUE(double, MPI_Wtime)() { return C(MPI_Wtime)(); }
VALUE(double, MPI_Wtick)() { return C(MPI_Wtick)(); }
VALUE(long, MPI_Aint_add)(const long* base, const long* displacement) { return C(MPI_Aint_add)(*base, *displacement); }
VALUE(long, MPI_Aint_diff)(const long* first, const long* second) { return C(MPI_Aint_diff)(*first, *second); }

// MPI-1: an address is an INTEGER, as far as it fits.
FORTRAN(MPI_Address)(const void* location, int* address, int* ierror) {
    long whole = 0;
    const int rc = C(MPI_Get_address)(in_buffer(location), &whole);
    *address = int(whole);
    answer(ierror, rc);
}
static void answer_with_bounds(int datatype, int* result, int* ierror, long (*of)(long lowest, long extent)) {
    long lowest = 0, extent = 0;
    const int rc = C(MPI_Type_get_extent)(handle<Datatype>(datatype), &lowest, &extent);
    *result = int(of(lowest, extent));
    answer(ierror, rc);
}
FORTRAN(MPI_Type_extent)(const int* datatype, int* extent, int* ierror) {
    answer_with_bounds(*datatype, extent, ierror, [](long, long whole) { return whole; });
}
FORTRAN(MPI_Type_lb)(const int* datatype, int* displacement, int* ierror) {
    answer_with_bounds(*datatype, displacement, ierror, [](long lowest, long) { return lowest; });
}
FORTRAN(MPI_Type_ub)(const int* datatype, int* displacement, int* ierror) {
    answer_with_bounds(*datatype, displacement, ierror, [](long lowest, long whole) { return lowest + whole; });
}
FORTRAN(MPI_Type_hvector)(const int* count, const int* blocklength, const int* stride, const int* oldtype, int* newtype, int* ierror) {
    NewNumber<Datatype> newtype_(newtype);
    const int rc = C(MPI_Type_create_hvector)(*count, *blocklength, *stride, handle<Datatype>(*oldtype), newtype_.pointer());
    newtype_.done(rc);
    answer(ierror, rc);
}
FORTRAN(MPI_Type_hindexed)(const int* count, const int* lengths, const int* displacements, const int* oldtype, int* newtype, int* ierror) {
    NewNumber<Datatype> newtype_(newtype);
    const std::vector<long> wide(displacements, displacements + std::max(*count, 0));
    const int rc = C(MPI_Type_create_hindexed)(*count, lengths, wide.data(), handle<Datatype>(*oldtype), newtype_.pointer());
    newtype_.done(rc);
    answer(ierror, rc);
}
FORTRAN(MPI_Type_struct)(const int* count, const int* lengths, const int* displacements, const int* types, int* newtype, int* ierror) {
    NewNumber<Datatype> newtype_(newtype);
    const std::vector<long> wide(displacements, displacements + std::max(*count, 0));
    FortranHandles<Datatype, true> types_(types, [&] { return *count; });
    const int rc = C(MPI_Type_create_struct)(*count, lengths, wide.data(), types_.pointer(), newtype_.pointer());
    newtype_.done(rc);
    answer(ierror, rc);
}
FORTRAN(MPI_Type_get_contents)(const int* datatype, const int* max_integers, const int* max_addresses, const int* max_datatypes,
                               int* integers, long* addresses, int* datatypes, int* ierror) {
    const PDatatype type = handle<Datatype>(*datatype);
    int has_integers = 0, has_addresses = 0, has_types = 0, combiner = 0;
    int rc = C(MPI_Type_get_envelope)(type, &has_integers, &has_addresses, &has_types, &combiner);
    Room<PDatatype> room(std::max(std::min(has_types, *max_datatypes), 0));
    if (rc == 0)
        rc = C(MPI_Type_get_contents)(type, *max_integers, *max_addresses, *max_datatypes, integers, addresses, room.data());
    for (int at = 0; rc == 0 && at < std::min(has_types, *max_datatypes); ++at)
        datatypes[at] = number<Datatype>(room[at]);
    answer(ierror, rc);
}

// Fortran gets no address of a buffer that it has attached.
FORTRAN(MPI_Buffer_detach)(void*, int* size, int* ierror) {
    void* unused;
    answer(ierror, C(MPI_Buffer_detach)(static_cast<void*>(&unused), size));
}
FORTRAN(MPI_Comm_detach_buffer)(const int* comm, void*, int* size, int* ierror) {
    void* unused;
    answer(ierror, C(MPI_Comm_detach_buffer)(handle<Comm>(*comm), static_cast<void*>(&unused), size));
}
FORTRAN(MPI_Session_detach_buffer)(const int* session, void*, int* size, int* ierror) {
    void* unused;
    answer(ierror, C(MPI_Session_detach_buffer)(handle<Session>(*session), static_cast<void*>(&unused), size));
}

FORTRAN(MPI_Info_get)(const int* info, const char* key, const int* valuelen, char* value, int* flag, int* ierror, int key_length, int value_length) {
    const String key_(key, key_length, true);
    std::string room(std::size_t(std::max(*valuelen, 0)) + 1, '\0');
    const int rc = C(MPI_Info_get)(handle<Info>(*info), key_.pointer(), *valuelen, room.data(), flag);
    if (rc == 0 && *flag)
        write_characters(value, value_length, room.c_str());
    answer(ierror, rc);
}
FORTRAN(MPI_Info_get_string)(const int* info, const char* key, int* buflen, char* value, int* flag, int* ierror, int key_length, int value_length) {
    const String key_(key, key_length, true);
    int room_bytes = *buflen > 0 ? *buflen + 1 : 0;  // C counts the character that ends a string
    std::string room(std::size_t(room_bytes) + 1, '\0');
    const int rc = C(MPI_Info_get_string)(handle<Info>(*info), key_.pointer(), &room_bytes, room.data(), flag);
    if (rc == 0 && *flag && *buflen > 0)
        write_characters(value, value_length, room.c_str());
    if (rc == 0 && *flag)
        *buflen = room_bytes - 1;
    answer(ierror, rc);
}
FORTRAN(MPI_Info_create_env)(int* info, int* ierror) {
    NewNumber<Info> info_(info);
    char* none = nullptr;
    const int rc = C(MPI_Info_create_env)(0, none, info_.pointer());
    info_.done(rc);
    answer(ierror, rc);
}
FORTRAN(MPI_Session_get_nth_pset)(const int* session, const int* info, const int* n, int* pset_len, char* name, int* ierror, int name_length) {
    int room_bytes = *pset_len > 0 ? *pset_len + 1 : 0;
    std::string room(std::size_t(room_bytes) + 1, '\0');
    const int rc = C(MPI_Session_get_nth_pset)(handle<Session>(*session), handle<Info>(*info), *n, &room_bytes, room.data());
    if (rc == 0 && *pset_len > 0)
        write_characters(name, name_length, room.c_str());
    if (rc == 0)
        *pset_len = room_bytes - 1;
    answer(ierror, rc);
}

namespace {

/// Arguments of a command: up to a string of blanks, each `stride` strings behind the one before.
std::vector<std::string> arguments_of(const char* given, long length, long stride) {
    std::vector<std::string> texts;
    for (; length > 0; given += stride * length) {
        String argument(given, length);
        if (argument.is_empty())
            break;
        texts.emplace_back(argument.pointer());
    }
    return texts;
}

int* in_errcodes(int* given) { return is_errcodes_ignore(given) ? nullptr : given; }

}  // namespace

FORTRAN(MPI_Comm_spawn)(const char* command, const char* argv, const int* maxprocs, const int* info, const int* root, const int* comm,
                        int* intercomm, int* errcodes, int* ierror, int command_length, int argv_length) {
    const String command_(command, command_length);
    NewNumber<Comm> intercomm_(intercomm);
    const bool has_argv = !is_argv_null(argv);
    Argv arguments(has_argv ? arguments_of(argv, argv_length, 1) : std::vector<std::string>());
    const int rc = C(MPI_Comm_spawn)(command_.pointer(), has_argv ? arguments.pointer() : nullptr, *maxprocs, handle<Info>(*info), *root,
                                     handle<Comm>(*comm), intercomm_.pointer(), in_errcodes(errcodes));
    intercomm_.done(rc);
    answer(ierror, rc);
}
FORTRAN(MPI_Comm_spawn_multiple)(const int* count, const char* commands, const char* argvs, const int* maxprocs, const int* infos,
                                 const int* root, const int* comm, int* intercomm, int* errcodes, int* ierror, int command_length,
                                 int argv_length) {
    NewNumber<Comm> intercomm_(intercomm);
    const long number_of = std::max(*count, 0);
    std::vector<std::string> names;
    std::deque<Argv> arguments;
    std::vector<char**> argument_pointers;
    names.reserve(std::size_t(number_of));
    for (long at = 0; at < number_of; ++at)
        names.emplace_back(String(commands + at * command_length, command_length).pointer());
    Argv commands_(std::move(names));
    for (long at = 0; !is_argvs_null(argvs) && at < number_of; ++at)
        argument_pointers.push_back(
            arguments.emplace_back(arguments_of(argvs + at * argv_length, argv_length, number_of)).pointer());
    FortranHandles<Info, true> infos_(infos, [&] { return number_of; });
    const int rc = C(MPI_Comm_spawn_multiple)(*count, commands_.pointer(), arguments.empty() ? nullptr : argument_pointers.data(), maxprocs,
                                              infos_.pointer(), *root, handle<Comm>(*comm), intercomm_.pointer(), in_errcodes(errcodes));
    intercomm_.done(rc);
    answer(ierror, rc);
}

// MPI_SIZEOF of the modules: a function for each type and rank.
#define SIZEOF(type, bytes)                                                                                   \
    FORTRAN(sizeof_##type)(const void*, int* size, int* ierror) {                                             \
        *size = bytes;                                                                                        \
        answer(ierror, 0);                                                                                    \
    }                                                                                                         \
    asm("NAME mpi_sizeof_" #type "_scalar_ f_sizeof_" #type "\n"                                              \
        ".irp rank, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"                                                    \
        "NAME mpi_sizeof_" #type "_r\\rank\\()_ f_sizeof_" #type "\n"                                         \
        ".endr");
SIZEOF(character, 1)
SIZEOF(logical, 4)
SIZEOF(int8, 1)
SIZEOF(int16, 2)
SIZEOF(int32, 4)
SIZEOF(int64, 8)
SIZEOF(real32, 4)
SIZEOF(real64, 8)
SIZEOF(real128, 16)
SIZEOF(complex32, 8)
SIZEOF(complex64, 16)
SIZEOF(complex128, 32)
#undef SIZEOF

}  // namespace mpiric::translate

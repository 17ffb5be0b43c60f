// probe-abi: whether a library of the MPI standard's ABI gives its constants the values that the standard
// has.
//
//   probe-abi                     a line for each constant that acts: its name, and "right" or "wrong"
//   mpiexec -n 1 probe-abi world  the same of those that only a launcher gives a value
//
// Each is tried by what it does. Of the first kind in a process of its own, a world of one rank: a wrong
// value may end it.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int wrong = 2;  // exit status of a child

struct Check {
    const char* name;
    bool (*holds)();
    bool ends_the_process = false;  // the right value does
    bool needs_a_launcher = false;
};

MPI_Comm own_comm() {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

// A file of eight bytes, of which four are read; deleted when it is closed.
MPI_File own_file(const char* path, int mode) {
    MPI_File file = MPI_FILE_NULL;
    if (MPI_File_open(MPI_COMM_SELF, path, mode, MPI_INFO_NULL, &file) != MPI_SUCCESS) {
        return MPI_FILE_NULL;
    }
    return file;
}

struct Path {
    std::array<char, 64> text{"/tmp/mpiric-abi-XXXXXX"};
    Path() { close(mkstemp(text.data())); }
    Path(const Path&) = delete;
    Path& operator=(const Path&) = delete;
    ~Path() { unlink(text.data()); }
};

// Where a file pointer is after a seek by one of the constants, from byte 4 of a file of 8.
bool seek_leads_to(int whence, long long expected) {
    const Path path;
    MPI_File file = own_file(path.text.data(), MPI_MODE_RDWR);
    const long long data = 1;
    MPI_Offset at = -1;
    if (file == MPI_FILE_NULL || MPI_File_write(file, &data, 8, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        return false;
    }
    // To byte 4 without any of the constants.
    int four = 0;
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_File_read(file, &four, 4, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_seek(file, 1, whence);
    MPI_File_get_position(file, &at);
    MPI_File_close(&file);
    return at == expected;
}

bool has_mode(int mode, bool can_write, bool can_read) {
    const Path path;
    MPI_File file = own_file(path.text.data(), mode);
    int value = 7;
    if (file == MPI_FILE_NULL) {
        return false;
    }
    const bool wrote = MPI_File_write_at(file, 0, &value, 4, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    const bool read = MPI_File_read_at(file, 0, &value, 4, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    MPI_File_close(&file);
    return wrote == can_write && read == can_read;
}

// The value of a predefined attribute; -1 where there is none.
long attribute(int keyval) {
    int* value = nullptr;
    int is_there = 0;
    const MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return MPI_Comm_get_attr(comm, keyval, static_cast<void*>(&value), &is_there) == MPI_SUCCESS &&
                   is_there && value != nullptr
               ? *value
               : -1;
}

// Whether a new class of errors changes the value of an attribute.
bool has_grown(int keyval) {
    const long before = attribute(keyval);
    int added = 0;
    MPI_Add_error_class(&added);
    return before >= 0 && attribute(keyval) != before;
}

template <class T> T reduced(MPI_Op op, MPI_Datatype type, T first, T second) {
    MPI_Reduce_local(&first, &second, 1, type, op);
    return second;
}

bool has_size(MPI_Datatype type, std::size_t bytes) {
    int size = -1;
    return MPI_Type_size(type, &size) == MPI_SUCCESS && size == static_cast<int>(bytes);
}

int combiner_of(MPI_Datatype type) {
    std::array<int, 4> found{};
    MPI_Type_get_envelope(type, found.data(), &found[1], &found[2], &found[3]);
    return found[3];
}

// The class of the error that a call with a wrong argument gives.
template <class Call> int error_class(Call&& call) {
    const MPI_Comm comm = own_comm();
    int found = MPI_SUCCESS;
    MPI_Error_class(call(comm), &found);
    return found;
}

int topology(MPI_Comm comm) {
    int found = -1;
    MPI_Topo_test(comm, &found);
    return found;
}

int compared(MPI_Comm first, MPI_Comm second) {
    int found = -1;
    MPI_Comm_compare(first, second, &found);
    return found;
}

// Bytes that a subarray skips before its first element: 1 of 2×3 elements at (0, 1) or, in Fortran's order,
// (1, 0).
long subarray_begins(int order) {
    const std::array<int, 2> sizes{2, 3}, parts{1, 1}, starts{1, 0};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Aint begin = -1, extent = -1;
    MPI_Type_create_subarray(2, sizes.data(), parts.data(), starts.data(), order, MPI_INT, &type);
    MPI_Type_get_true_extent(type, &begin, &extent);
    return begin;
}

bool receives(int source, int tag) {
    const MPI_Comm comm = own_comm();
    int sent = 5, got = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(&sent, 1, MPI_INT, 0, 3, comm, &request);
    const int code = MPI_Recv(&got, 1, MPI_INT, source, tag, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return code == MPI_SUCCESS && got == 5;
}

bool status_fits() {
    const MPI_Comm comm = own_comm();
    const std::array<int, 3> sent{1, 2, 3};
    std::array<int, 8> got{};
    MPI_Request request = MPI_REQUEST_NULL;
    struct {
        MPI_Status status;
        std::array<int, 8> behind;
    } room;
    std::memset(&room, 0x55, sizeof room);
    MPI_Isend(sent.data(), 3, MPI_INT, 0, 9, comm, &request);
    MPI_Recv(got.data(), 8, MPI_INT, 0, 9, comm, &room.status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int count = -1;
    MPI_Get_count(&room.status, MPI_INT, &count);
    return room.status.MPI_SOURCE == 0 && room.status.MPI_TAG == 9 && count == 3 &&
           room.behind[0] == 0x55555555;
}

bool locks(int kind) {
    int* memory = nullptr;
    int value = 4;
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_SELF, static_cast<void*>(&memory),
                     &window);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    if (MPI_Win_lock(kind, 0, MPI_MODE_NOCHECK, window) != MPI_SUCCESS) {
        return false;
    }
    MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_unlock(0, window);
    return *memory == 4;
}

#define IS(name, ...)                                                                                        \
    Check {                                                                                                  \
        #name, [] { return bool(__VA_ARGS__); }                                                              \
    }
#define SIZE(type, bytes) IS(type, has_size(type, bytes))
#define TOINT(kind, name, number)                                                                            \
    IS(name, MPI_##kind##_toint(name) == (number) && MPI_##kind##_fromint(number) == (name))

constexpr auto checks = std::to_array<Check>({
    IS(MPI_SEEK_SET, seek_leads_to(MPI_SEEK_SET, 1)),
    IS(MPI_SEEK_CUR, seek_leads_to(MPI_SEEK_CUR, 5)),
    IS(MPI_SEEK_END, seek_leads_to(MPI_SEEK_END, 9)),
    IS(MPI_ERRORS_RETURN,
       error_class([](MPI_Comm comm) { return MPI_Send(nullptr, 0, MPI_INT, 77, 0, comm); }) == MPI_ERR_RANK),
    {"MPI_ERRORS_ABORT",
     [] {
         const MPI_Comm comm = own_comm();
         MPI_Comm_set_errhandler(comm, MPI_ERRORS_ABORT);
         MPI_Send(nullptr, 0, MPI_INT, 77, 0, comm);
         return false;
     },
     true},
    {"MPI_ERRORS_ARE_FATAL",
     [] {
         const MPI_Comm comm = own_comm();
         MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
         MPI_Send(nullptr, 0, MPI_INT, 77, 0, comm);
         return false;
     },
     true},
    IS(MPI_TAG_UB, attribute(MPI_TAG_UB) >= 32767),
    IS(MPI_WTIME_IS_GLOBAL, attribute(MPI_WTIME_IS_GLOBAL) >= 0 && attribute(MPI_WTIME_IS_GLOBAL) <= 1),
    IS(MPI_LASTUSEDCODE, has_grown(MPI_LASTUSEDCODE)),
    {"MPI_UNIVERSE_SIZE", [] { return attribute(MPI_UNIVERSE_SIZE) != 0 && !has_grown(MPI_UNIVERSE_SIZE); },
     false, true},
    {"MPI_APPNUM", [] { return attribute(MPI_APPNUM) == 0 && !has_grown(MPI_APPNUM); }, false, true},
    IS(MPI_ANY_SOURCE, receives(MPI_ANY_SOURCE, 3)),
    IS(MPI_ANY_TAG, receives(0, MPI_ANY_TAG)),
    IS(MPI_PROC_NULL, MPI_Send(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, own_comm()) == MPI_SUCCESS),
    IS(MPI_Status, status_fits()),
    IS(MPI_IN_PLACE,
       [] {
           int value = 6;
           MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, own_comm());
           return value == 6;
       }()),
    IS(MPI_UNDEFINED,
       [] {
           MPI_Comm comm = MPI_COMM_WORLD;
           return MPI_Comm_split(own_comm(), MPI_UNDEFINED, 0, &comm) == MPI_SUCCESS && comm == MPI_COMM_NULL;
       }()),
    IS(MPI_COMM_TYPE_SHARED,
       [] {
           MPI_Comm comm = MPI_COMM_NULL;
           return MPI_Comm_split_type(own_comm(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm) ==
                      MPI_SUCCESS &&
                  comm != MPI_COMM_NULL;
       }()),
    IS(MPI_IDENT, compared(MPI_COMM_SELF, MPI_COMM_SELF) == MPI_IDENT),
    IS(MPI_CONGRUENT, compared(MPI_COMM_SELF, own_comm()) == MPI_CONGRUENT),
    IS(MPI_CART,
       [] {
           const int one = 1, no = 0;
           MPI_Comm comm = MPI_COMM_NULL;
           MPI_Cart_create(own_comm(), 1, &one, &no, 0, &comm);
           return topology(comm) == MPI_CART;
       }()),
    IS(MPI_GRAPH,
       [] {
           const int zero = 0;
           MPI_Comm comm = MPI_COMM_NULL;
           MPI_Graph_create(own_comm(), 1, &zero, &zero, 0, &comm);
           return topology(comm) == MPI_GRAPH;
       }()),
    IS(MPI_ORDER_C, subarray_begins(MPI_ORDER_C) == 12),
    IS(MPI_ORDER_FORTRAN, subarray_begins(MPI_ORDER_FORTRAN) == 4),
    IS(MPI_COMBINER_NAMED, combiner_of(MPI_INT) == MPI_COMBINER_NAMED),
    IS(MPI_COMBINER_CONTIGUOUS,
       [] {
           MPI_Datatype type = MPI_DATATYPE_NULL;
           MPI_Type_contiguous(3, MPI_INT, &type);
           return combiner_of(type) == MPI_COMBINER_CONTIGUOUS;
       }()),
    IS(MPI_COMBINER_VECTOR,
       [] {
           MPI_Datatype type = MPI_DATATYPE_NULL;
           MPI_Type_vector(3, 1, 2, MPI_INT, &type);
           return combiner_of(type) == MPI_COMBINER_VECTOR;
       }()),
    IS(MPI_LOCK_EXCLUSIVE, locks(MPI_LOCK_EXCLUSIVE)),
    IS(MPI_LOCK_SHARED, locks(MPI_LOCK_SHARED)),
    IS(MPI_MODE_RDONLY, has_mode(MPI_MODE_RDONLY, false, true)),
    IS(MPI_MODE_WRONLY, has_mode(MPI_MODE_WRONLY, true, false)),
    IS(MPI_MODE_RDWR, has_mode(MPI_MODE_RDWR, true, true)),
    IS(MPI_SUM, reduced(MPI_SUM, MPI_INT, 12, 10) == 22),
    IS(MPI_PROD, reduced(MPI_PROD, MPI_INT, 12, 10) == 120),
    IS(MPI_MAX, reduced(MPI_MAX, MPI_INT, 12, 10) == 12),
    IS(MPI_MIN, reduced(MPI_MIN, MPI_INT, 12, 10) == 10),
    IS(MPI_LAND, reduced(MPI_LAND, MPI_INT, 12, 0) == 0),
    IS(MPI_LOR, reduced(MPI_LOR, MPI_INT, 12, 0) == 1),
    IS(MPI_LXOR, reduced(MPI_LXOR, MPI_INT, 12, 10) == 0),
    IS(MPI_BAND, reduced(MPI_BAND, MPI_INT, 12, 10) == 8),
    IS(MPI_BOR, reduced(MPI_BOR, MPI_INT, 12, 10) == 14),
    IS(MPI_BXOR, reduced(MPI_BXOR, MPI_INT, 12, 10) == 6),
    SIZE(MPI_BYTE, 1),
    SIZE(MPI_CHAR, 1),
    SIZE(MPI_SHORT, 2),
    SIZE(MPI_INT, 4),
    SIZE(MPI_LONG, sizeof(long)),
    SIZE(MPI_LONG_LONG, 8),
    SIZE(MPI_UNSIGNED_CHAR, 1),
    SIZE(MPI_UNSIGNED, 4),
    SIZE(MPI_UNSIGNED_LONG, sizeof(long)),
    SIZE(MPI_FLOAT, 4),
    SIZE(MPI_DOUBLE, 8),
    SIZE(MPI_LONG_DOUBLE, sizeof(long double)),
    SIZE(MPI_INT8_T, 1),
    SIZE(MPI_INT16_T, 2),
    SIZE(MPI_INT32_T, 4),
    SIZE(MPI_INT64_T, 8),
    SIZE(MPI_AINT, sizeof(MPI_Aint)),
    SIZE(MPI_OFFSET, sizeof(MPI_Offset)),
    SIZE(MPI_COUNT, sizeof(MPI_Count)),
    SIZE(MPI_C_FLOAT_COMPLEX, 8),
    SIZE(MPI_C_DOUBLE_COMPLEX, 16),
    SIZE(MPI_FLOAT_INT, 8),
    SIZE(MPI_DOUBLE_INT, 12),
    SIZE(MPI_2INT, 8),
    TOINT(Comm, MPI_COMM_WORLD, 257),
    IS(MPI_ERR_COUNT, error_class([](MPI_Comm comm) { return MPI_Send(nullptr, -1, MPI_INT, 0, 0, comm); }) ==
                          MPI_ERR_COUNT),
    IS(MPI_ERR_TAG,
       error_class([](MPI_Comm comm) { return MPI_Send(nullptr, 0, MPI_INT, 0, -77, comm); }) == MPI_ERR_TAG),
    IS(MPI_ERR_ROOT,
       error_class([](MPI_Comm comm) { return MPI_Bcast(nullptr, 0, MPI_INT, 77, comm); }) == MPI_ERR_ROOT),
});

// In a child: whether the constant does what it is for. One that waits for ever is wrong, too.
bool is_right(const Check& check) {
    constexpr unsigned limit_s = 20;
    const pid_t child = fork();
    if (child == 0) {
        alarm(limit_s);
        MPI_Init(nullptr, nullptr);
        _exit(check.holds() ? EXIT_SUCCESS : wrong);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        return false;
    }
    const bool answered =
        WIFEXITED(status) && (WEXITSTATUS(status) == EXIT_SUCCESS || WEXITSTATUS(status) == wrong);
    return check.ends_the_process ? !answered : answered && WEXITSTATUS(status) == EXIT_SUCCESS;
}

void print(const Check& check, bool is_right) {
    std::printf("%s %s\n", check.name, is_right ? "right" : "wrong");
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    const bool is_launched = argc > 1 && std::strcmp(argv[1], "world") == 0;
    if (is_launched) {
        MPI_Init(&argc, &argv);
    }
    bool errors_return = true;
    for (const Check& check : checks) {
        const bool needs_errors = std::strncmp(check.name, "MPI_ERR_", 8) == 0;
        if (check.needs_a_launcher != is_launched || (needs_errors && !errors_return)) {
            continue;
        }
        const bool right = is_launched ? check.holds() : is_right(check);
        errors_return = errors_return && (right || std::strcmp(check.name, "MPI_ERRORS_RETURN") != 0);
        print(check, right);
    }
    if (is_launched) {
        MPI_Finalize();
    }
    return EXIT_SUCCESS;
}

// Effects of constants of the MPI interface, observed in a world of one rank.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <unistd.h>

inline MPI_Comm own_comm() {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

// A file of eight bytes, of which four are read; it is deleted when it is closed.
inline MPI_File own_file(const char* path, int mode) {
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

// Position of a file pointer after a seek with one of the constants, from byte 4 of a file of 8 bytes.
inline bool seek_leads_to(int whence, long long expected) {
    const Path path;
    MPI_File file = own_file(path.text.data(), MPI_MODE_RDWR);
    const long long data = 1;
    MPI_Offset at = -1;
    if (file == MPI_FILE_NULL || MPI_File_write(file, &data, 8, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        return false;
    }
    // Seek to byte 4 without any of the constants.
    int four = 0;
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_File_read(file, &four, 4, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_seek(file, 1, whence);
    MPI_File_get_position(file, &at);
    MPI_File_close(&file);
    return at == expected;
}

inline bool has_mode(int mode, bool can_write, bool can_read) {
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

// Value of a predefined attribute; -1 if there is none.
inline long attribute(int keyval) {
    int* value = nullptr;
    int is_there = 0;
    const MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return MPI_Comm_get_attr(comm, keyval, static_cast<void*>(&value), &is_there) == MPI_SUCCESS &&
                   is_there && value != nullptr
               ? *value
               : -1;
}

// Returns whether a new error class changes the value of an attribute.
inline bool has_grown(int keyval) {
    const long before = attribute(keyval);
    int added = 0;
    MPI_Add_error_class(&added);
    return before >= 0 && attribute(keyval) != before;
}

template <class T> T reduced(MPI_Op op, MPI_Datatype type, T first, T second) {
    MPI_Reduce_local(&first, &second, 1, type, op);
    return second;
}

inline bool has_size(MPI_Datatype type, std::size_t bytes) {
    int size = -1;
    return MPI_Type_size(type, &size) == MPI_SUCCESS && size == static_cast<int>(bytes);
}

inline int combiner_of(MPI_Datatype type) {
    std::array<int, 4> found{};
    MPI_Type_get_envelope(type, found.data(), &found[1], &found[2], &found[3]);
    return found[3];
}

// Class of the error that a call with a wrong argument returns.
template <class Call> int error_class(Call&& call) {
    const MPI_Comm comm = own_comm();
    int found = MPI_SUCCESS;
    MPI_Error_class(call(comm), &found);
    return found;
}

inline int topology(MPI_Comm comm) {
    int found = -1;
    MPI_Topo_test(comm, &found);
    return found;
}

inline int compared(MPI_Comm first, MPI_Comm second) {
    int found = -1;
    MPI_Comm_compare(first, second, &found);
    return found;
}

// Bytes that a subarray skips before its first element: 1 of 2×3 elements at (0, 1) or, in Fortran's order,
// (1, 0).
inline long subarray_begins(int order) {
    const std::array<int, 2> sizes{2, 3}, parts{1, 1}, starts{1, 0};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Aint begin = -1, extent = -1;
    MPI_Type_create_subarray(2, sizes.data(), parts.data(), starts.data(), order, MPI_INT, &type);
    MPI_Type_get_true_extent(type, &begin, &extent);
    return begin;
}

inline bool receives(int source, int tag) {
    const MPI_Comm comm = own_comm();
    int sent = 5, got = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(&sent, 1, MPI_INT, 0, 3, comm, &request);
    const int code = MPI_Recv(&got, 1, MPI_INT, source, tag, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return code == MPI_SUCCESS && got == 5;
}

inline bool status_fits() {
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

// Error handler that ends the process; false if the call returns.
inline bool ends_by(MPI_Errhandler handler) {
    const MPI_Comm comm = own_comm();
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Send(nullptr, 0, MPI_INT, 77, 0, comm);
    return false;
}

inline bool locks(int kind) {
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

// Value of a predefined attribute of a window of three integers; -1 if there is none. MPI_WIN_BASE is an
// address: the result is 0 if it is the address of the window.
inline long window_attribute(int keyval) {
    int *memory = nullptr, *value = nullptr;
    int is_there = 0;
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_allocate(3 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_SELF, static_cast<void*>(&memory),
                     &window);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    if (MPI_Win_get_attr(window, keyval, static_cast<void*>(&value), &is_there) != MPI_SUCCESS || !is_there) {
        return -1;
    }
    if (value == memory) {
        return 0;
    }
    if (keyval == MPI_WIN_SIZE) {
        MPI_Aint bytes = 0;
        std::memcpy(&bytes, value, sizeof bytes);
        return bytes;
    }
    return *value;
}

// Returns whether a new file can be opened with a mode, and opened again in the same way.
inline bool opens(int mode, bool again) {
    const Path path;
    unlink(path.text.data());
    for (const bool expected : {true, again}) {
        MPI_File file = own_file(path.text.data(), MPI_MODE_RDWR | mode);
        const bool is_open = file != MPI_FILE_NULL;
        if (is_open != expected) {
            return false;
        }
        if (is_open) {
            MPI_File_close(&file);
        }
    }
    return true;
}

inline bool appends() {
    const Path path;
    MPI_File file = own_file(path.text.data(), MPI_MODE_WRONLY);
    MPI_File_write(file, "1234", 4, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    file = own_file(path.text.data(), MPI_MODE_WRONLY | MPI_MODE_APPEND);
    MPI_Offset at = 0;
    MPI_File_get_position(file, &at);
    MPI_File_close(&file);
    return at == 4;
}

inline bool is_gone_when_closed() {
    const Path path;
    MPI_File file = own_file(path.text.data(), MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MPI_File_close(&file);
    return access(path.text.data(), F_OK) != 0;
}

inline int index_of_extreme(MPI_Op op) {
    struct ValueAndIndex {
        int value, index;
    };
    return reduced(op, MPI_2INT, ValueAndIndex{4, 1}, ValueAndIndex{9, 2}).index;
}

inline bool matches(int type_class, int bytes) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    return MPI_Type_match_size(type_class, bytes, &type) == MPI_SUCCESS && has_size(type, std::size_t(bytes));
}

// Control variables of a library that has four.
#include "world/control.hpp"

#include <algorithm>
#include <cstring>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace mpiric::world;

namespace mpiric::world {

constinit Library library;
constinit Handles handles;

}  // namespace mpiric::world

namespace {

constexpr MPI_Datatype type_int = 4, type_char = 1;  // their sizes

struct Variable {
    const char* name;
    MPI_Datatype type;
    int count;
    const char* description;
    std::string bytes;
    bool writable = true;
};

std::string number(int value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

std::vector<Variable> present;
std::vector<std::string> written;  ///< names, in order

Variable& of(MPI_T_cvar_handle handle) { return *reinterpret_cast<Variable*>(handle); }

/// The variables with the values that a library begins with.
struct Variables {
    Variables() {
        present = {
            {"EAGER", type_int, 1, "bytes", number(1024)},
            {"ALGORITHM", type_int, 1, "auto - the library's choice\nring - around\nrecursive - doubling",
             number(0)},
            {"FILE", type_char, 8, "a path", std::string("old\0\0\0\0\0", 8)},
            {"FIXED", type_int, 1, "cannot be written", number(3), false},
        };
        written.clear();
        library.T_init_thread = [](int, int* provided) { return *provided = 0, MPI_SUCCESS; };
        library.T_cvar_get_num = [](int* count) { return *count = int(present.size()), MPI_SUCCESS; };
        library.T_cvar_get_info = [](int index, char* name, int* name_length, int*, MPI_Datatype* type,
                                     MPI_T_enum*, char* description, int* length, int*, int*) {
            const Variable& variable = present[size_t(index)];
            if (name)
                std::strncpy(name, variable.name, size_t(*name_length));
            if (type)
                *type = variable.type;
            if (description)
                std::strncpy(description, variable.description, size_t(*length));
            return MPI_SUCCESS;
        };
        library.T_cvar_handle_alloc = [](int index, void*, MPI_T_cvar_handle* handle, int* count) {
            *handle = reinterpret_cast<MPI_T_cvar_handle>(&present[size_t(index)]);
            *count = present[size_t(index)].count;
            return MPI_SUCCESS;
        };
        library.T_cvar_read = [](MPI_T_cvar_handle handle, void* bytes) {
            std::memcpy(bytes, of(handle).bytes.data(), of(handle).bytes.size());
            return MPI_SUCCESS;
        };
        library.T_cvar_write = [](MPI_T_cvar_handle handle, const void* bytes) -> int {
            if (!of(handle).writable)
                return MPI_ERR_OTHER;
            of(handle).bytes.assign(static_cast<const char*>(bytes), of(handle).bytes.size());
            written.emplace_back(of(handle).name);
            return MPI_SUCCESS;
        };
        library.Type_size = [](MPI_Datatype type, int* bytes) { return *bytes = int(type), MPI_SUCCESS; };
    }
};

}  // namespace

TEST_CASE("an algorithm's value is its place among those described") {
    const char* lines = "auto - chosen\nring - around\nring_segmented - around in parts\n";
    CHECK(described_value(lines, "auto") == 0);
    CHECK(described_value(lines, "ring") == 1);
    CHECK(described_value(lines, "ring_segmented") == 2);
    CHECK(described_value(lines, "segmented") == -1);
    CHECK(described_value(lines, "tree") == -1);
    CHECK(described_value("", "auto") == -1);
    // MPICH 4.0 runs the lines together.
    CHECK(described_value("nb - Force nonblocking algorithmsmp - Force smp algorithmring - Force ring",
                          "ring") == 2);
}

TEST_CASE_FIXTURE(Variables, "a setting is in force between apply and restore") {
    Setting setting;
    REQUIRE(setting.open("EAGER", "65536"));
    CHECK(present[0].bytes == number(1024));
    REQUIRE(setting.apply());
    CHECK(present[0].bytes == number(65536));
    setting.restore();
    CHECK(present[0].bytes == number(1024));
}

TEST_CASE_FIXTURE(Variables, "a value is spelled by the variable's type") {
    Setting algorithm, file;
    REQUIRE(algorithm.open("ALGORITHM", "recursive"));
    REQUIRE(algorithm.apply());
    CHECK(present[1].bytes == number(2));
    REQUIRE(file.open("FILE", "new"));
    REQUIRE(file.apply());
    CHECK(present[2].bytes.c_str() == std::string("new"));
    CHECK(present[2].bytes.size() == 8);
}

TEST_CASE_FIXTURE(Variables, "unavailable settings are refused") {
    CHECK(!Setting().open("MISSING", "1"));
    CHECK(!Setting().open("ALGORITHM", "tree"));
    CHECK(!Setting().open("FILE", "too long"));
    CHECK(!Setting().open("FIXED", "4"));
}

TEST_CASE_FIXTURE(Variables, "a fixed variable may have the value already") {
    CHECK(Setting().open("FIXED", "3"));
    CHECK(Setting().is_in_force("FIXED", "3"));
    CHECK(!Setting().is_in_force("FIXED", "4"));
    CHECK(written.empty());
}

TEST_CASE_FIXTURE(Variables, "several settings are applied all or none, and restored in reverse") {
    Settings settings;
    REQUIRE(settings.open("EAGER", "1"));
    REQUIRE(settings.open("ALGORITHM", "ring"));
    SUBCASE("all") {
        written.clear();
        REQUIRE(settings.apply());
        settings.restore();
        CHECK(written == std::vector<std::string>{"EAGER", "ALGORITHM", "ALGORITHM", "EAGER"});
    }
    SUBCASE("none") {
        present[1].writable = false;
        CHECK(!settings.apply());
    }
    CHECK(present[0].bytes == number(1024));
    CHECK(present[1].bytes == number(0));
}

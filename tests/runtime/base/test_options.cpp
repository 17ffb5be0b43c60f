// The runtime's options, from the environment.
#include "base/options.hpp"

#include <cstdlib>
#include <doctest/doctest.h>
#include <initializer_list>
#include <string_view>

using namespace mpiric;

TEST_CASE("options are read from the environment") {
    for (const char* name : {"MPIRIC_RECORD_DIR", "MPIRIC_MERGE", "MPIRIC_UNEXPECTED", "MPIRIC_POSIX_IO"})
        unsetenv(name);
    SUBCASE("unset options have their defaults") {
        CHECK(std::string_view(read_options().record_dir).empty());
        CHECK(read_options().merge == Merge::never);
        CHECK(read_options().posix_io);
    }
    SUBCASE("set options are read") {
        setenv("MPIRIC_MERGE", "tree", 1);
        setenv("MPIRIC_UNEXPECTED", "1", 1);
        setenv("MPIRIC_POSIX_IO", "0", 1);
        CHECK(read_options().merge == Merge::tree);
        CHECK(read_options().unexpected == 1);
        CHECK(!read_options().posix_io);
    }
    SUBCASE("invalid values keep the default") {
        setenv("MPIRIC_MERGE", "forest", 1);
        setenv("MPIRIC_UNEXPECTED", "many", 1);
        CHECK(read_options().merge == Merge::never);
        CHECK(read_options().unexpected == 64);
    }
    SUBCASE("rotate mode has an older name") {
        for (const char* name : {"rotate", "restless"}) {
            setenv("MPIRIC_COLLECTIVES", name, 1);
            CHECK(read_options().collectives == Collectives::rotate);
        }
    }
}

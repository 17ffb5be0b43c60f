// Options: what is understood counts, what is not keeps its default.
#include "base/options.hpp"
#include "check.hpp"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

using namespace mpiric;

int main() {
    for (const char* name : {"MPIRIC_RECORD_DIR", "MPIRIC_MERGE", "MPIRIC_UNEXPECTED", "MPIRIC_POSIX_IO"})
        unsetenv(name);
    CHECK(*read_options().record_dir == '\0' && read_options().merge == Merge::never &&
          read_options().posix_io);
    setenv("MPIRIC_MERGE", "tree", 1);
    setenv("MPIRIC_UNEXPECTED", "1", 1);
    setenv("MPIRIC_POSIX_IO", "0", 1);
    CHECK(read_options().merge == Merge::tree && read_options().unexpected == 1 && !read_options().posix_io);
    setenv("MPIRIC_MERGE", "forest", 1);
    setenv("MPIRIC_UNEXPECTED", "many", 1);
    CHECK(read_options().merge == Merge::never && read_options().unexpected == 64);
    return failures != 0;
}

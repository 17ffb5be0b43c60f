// Parsing of marks: valid and malformed ones.
#include "marks/marks.hpp"

#include <doctest/doctest.h>

using mpiric::marks::Mark;
using mpiric::marks::read_mark;

TEST_CASE("a mark names a function, a place, a communicator and two calls") {
    Mark mark;
    REQUIRE(read_mark("MPI_Allreduce@lmp+0x48f2@4.1:400,1300", mark));
    CHECK(mark.function == "MPI_Allreduce");
    CHECK(mark.module == "lmp");
    CHECK(mark.offset == 0x48f2);
    CHECK(mark.ranks == 4);
    CHECK(mark.birth == 1);
    CHECK(mark.first == 400);
    CHECK(mark.last == 1300);
}

TEST_CASE("a star matches any place or communicator") {
    Mark mark;
    REQUIRE(read_mark("MPI_Isend@*@*:1,2", mark));
    CHECK(mark.module.empty());
    CHECK(mark.ranks == 0);
}

TEST_CASE("a file may have a name with the separators in it") {
    Mark mark;
    REQUIRE(read_mark("MPI_Send@my@app:2+0x1.so+0x10@2.0:1,2", mark));
    CHECK(mark.module == "my@app:2+0x1.so");
    CHECK(mark.offset == 0x10);
}

TEST_CASE("malformed marks are refused") {
    Mark mark;
    for (const char* text : {"",
                             "main",
                             "MPI_Send",
                             "MPI_Send@*@*",
                             "MPI_Send@*@*:",
                             "MPI_Send@*@*:1",
                             "MPI_Send@*@*:2,1",
                             "MPI_Send@*@*:1,1",
                             "MPI_Send@*@*:0,1",
                             "MPI_Send@*@*:-1,1",
                             "MPI_Send@*@*:1,2x",
                             "@*@*:1,2",
                             "MPI_Send@app@*:1,2",
                             "MPI_Send@+0x10@*:1,2",
                             "MPI_Send@app+0xzz@*:1,2",
                             "MPI_Send@*@0.0:1,2",
                             "MPI_Send@*@4:1,2",
                             "MPI_Send@*@4.:1,2",
                             "MPI_Send@*:1,2",
                             "MPI_Send@app+0x11111111111111111@*:1,2",
                             "MPI_Send@*@*:1,99999999999999999999"}) {
        CAPTURE(text);
        CHECK_FALSE(read_mark(text, mark));
    }
}

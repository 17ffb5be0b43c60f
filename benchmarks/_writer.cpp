// Writes as many lines as asked: `endl` into a file of each rank, `lines` to stdout, a line at a time.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mpi.h>
#include <string>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const std::string how = argc > 1 ? argv[1] : "endl";
    const long lines = argc > 2 ? std::atol(argv[2]) : 10000;
    if (how == "lines") {
        setvbuf(stdout, nullptr, _IOLBF, 0);
        for (long line = 0; line < lines; ++line)
            std::printf("rank %d line %06ld of a program that prints a line, then another, and so on\n", rank,
                        line);
    } else {
        std::ofstream file("out/log." + std::to_string(rank));
        for (long line = 0; line < lines; ++line)
            file << "rank " << rank << " step " << line << " energy " << double(line) / 8 << std::endl;
    }
    MPI_Finalize();
}

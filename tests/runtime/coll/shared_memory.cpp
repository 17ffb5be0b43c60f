// shared_memory [files]: the ranks share memory, or none of them does. Rank 0 says which: "shared" when every
// rank reads in every part what its rank wrote there, "apart" when no rank has it; nothing when they disagree
// or a file stays open. `files`: rank 0 may write files of 4 KiB at most.
#include "coll/shared_memory.hpp"
#include "world/library.hpp"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sys/resource.h>

namespace {

constexpr size_t part_bytes = 100'000;

long open_files() {
    const std::filesystem::directory_iterator files("/proc/self/fd"), end;
    return std::distance(files, end);
}

uint32_t& word(const mpiric::coll::SharedMemory& memory, int part) {
    return *reinterpret_cast<uint32_t*>(memory.data() + size_t(part) * part_bytes + part_bytes - 4);
}

/// Parts that hold what their ranks wrote; -1 when this rank has no memory.
int parts_seen(const mpiric::coll::SharedMemory& memory, bool mapped, int rank, int size) {
    if (mapped)
        word(memory, rank) += uint32_t(rank) + 1;  // it was zero
    MPI_Barrier(MPI_COMM_WORLD);
    int seen = mapped ? 0 : -1;
    for (int part = 0; mapped && part < size; ++part)
        seen += word(memory, part) == uint32_t(part) + 1;
    return seen;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, size = 0, least = 0, most = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    mpiric::world::bind();
    if (argc > 1 && std::strcmp(argv[1], "files") == 0 && rank == 0) {
        const rlimit small = {4096, 4096};
        setrlimit(RLIMIT_FSIZE, &small);
    }
    const long before = open_files();
    {
        mpiric::coll::SharedMemory memory;
        const bool mapped = memory.map(MPI_COMM_WORLD, part_bytes);
        int seen = parts_seen(memory, mapped, rank, size);
        if (open_files() != before)
            seen = -2;
        MPI_Allreduce(&seen, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        MPI_Allreduce(&seen, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    if (rank == 0 && least == most && (least == size || least == -1))
        std::puts(least == size ? "shared" : "apart");
    MPI_Finalize();
    return 0;
}

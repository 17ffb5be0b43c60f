// probe-abi: tests whether a library of the MPI standard's ABI defines its constants with the values of the
// standard.
//
//   probe-abi                     a line for each constant with an effect: its name, and "right" or "wrong"
//   mpiexec -n 1 probe-abi world  the same for constants whose value depends on a launcher
//
// Each constant is tested by its effect; the first kind in a child process, a world of one rank, because a
// wrong value may end it. After such a value, and after each wrong one, another child continues.
#include "abi_constants.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

void print(const Check& check, bool is_right) {
    std::printf("%s %s\n", check.name, is_right ? "right" : "wrong");
    std::fflush(stdout);
}

bool is_of_errors(const Check& check) { return std::strncmp(check.name, "MPI_ERR_", 8) == 0; }

// MPICH 5 names the shared memory of a process without a launcher by its number, and unlinks it in
// MPI_Finalize, which a child does not reach.
void remove_segments(pid_t child) {
    for (const char* kind : {"shm", "vci"}) {
        std::array<char, 64> path{};
        std::snprintf(path.data(), path.size(), "/dev/shm/mpich_%s_%x_0", kind, unsigned(child));
        unlink(path.data());
    }
}

// Tests constants in a child, from one on up to the first that is wrong or ends the child, and returns the
// next. A constant that blocks is wrong, too. Error classes can only be tested if errors are returned.
std::size_t try_from(std::size_t first, bool& errors_return) {
    constexpr unsigned limit_s = 20;
    std::size_t next = first;
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) {
        std::exit(EXIT_FAILURE);
    }
    const pid_t child = fork();
    if (child == 0) {
        MPI_Init(nullptr, nullptr);
        for (; next < abi_constants().size(); ++next) {
            const Check& check = abi_constants()[next];
            alarm(limit_s);
            const bool is_left_out = check.needs_a_launcher || (is_of_errors(check) && !errors_return);
            const char answer = is_left_out ? '-' : check.holds() ? 'y' : 'n';
            if (write(ends[1], &answer, 1) != 1 || answer == 'n') {
                break;
            }
        }
        _exit(EXIT_SUCCESS);
    }
    close(ends[1]);
    const auto note = [&](const Check& check, bool is_right) {
        print(check, is_right);
        errors_return = errors_return && (is_right || std::strcmp(check.name, "MPI_ERRORS_RETURN") != 0);
    };
    char answer = '-';
    for (; read(ends[0], &answer, 1) == 1; ++next) {
        if (answer != '-') {
            note(abi_constants()[next], answer == 'y');
        }
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (child > 0) {
        remove_segments(child);
    }
    if (next < abi_constants().size() && answer != 'n') {  // the child ended within this test
        note(abi_constants()[next], abi_constants()[next].ends_the_process && child > 0);
        ++next;
    }
    return next;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::strcmp(argv[1], "world") == 0) {
        MPI_Init(&argc, &argv);
        for (const Check& check : abi_constants()) {
            if (check.needs_a_launcher) {
                print(check, check.holds());
            }
        }
        MPI_Finalize();
        return EXIT_SUCCESS;
    }
    bool errors_return = true;
    for (std::size_t next = 0; next < abi_constants().size();) {
        next = try_from(next, errors_return);
    }
    return EXIT_SUCCESS;
}

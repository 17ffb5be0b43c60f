// Two ranks spawn two copies of this program each way, with the info key of their argument. A copy says what
// the info set for it, and sums up among its like.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
    char value[MPI_MAX_INFO_VAL + 1] = "";
    char* commands[2] = {argv[0], argv[0]};
    int rank, size, sum, one = 1, flag = 0, each[2] = {1, 1};
    MPI_Comm between;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&between);
    if (between != MPI_COMM_NULL) {
        const char* said = getenv("SAID");
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        printf("%s, %d of %d\n", said ? said : "nothing", sum, size);
        fflush(stdout);
        MPI_Comm_disconnect(&between);
        MPI_Finalize();
        return 0;
    }
    // Only the root's info means anything: the other rank's is what lies about.
    MPI_Info infos[2], garbage[2];
    memset(garbage, 0x5a, sizeof garbage);
    MPI_Info_create(&infos[0]);
    MPI_Info_set(infos[0], argv[1], "SAID=something");
    infos[1] = MPI_INFO_NULL;
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, rank ? infos[0] : garbage[0], 1, MPI_COMM_WORLD, &between,
                   MPI_ERRCODES_IGNORE);
    MPI_Comm_disconnect(&between);
    MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, each, rank ? infos : garbage, 1, MPI_COMM_WORLD,
                            &between, MPI_ERRCODES_IGNORE);
    MPI_Comm_disconnect(&between);
    MPI_Info_get(infos[0], argv[1], MPI_MAX_INFO_VAL, value, &flag);
    if (!flag || strcmp(value, "SAID=something"))
        printf("the info is another\n");
    MPI_Info_free(&infos[0]);
    MPI_Finalize();
    return 0;
}

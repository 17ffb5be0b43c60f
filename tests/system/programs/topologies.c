/* Checks topologies whose ranks may be reordered, and counts the pairs of neighbours on one host. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int r, n;
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    char host[64];
    gethostname(host, 64);
    /* ring of stride n/2: 0-4,1-5,.. adjacency */
    int partner = (r + n / 2) % n, w = 5;
    MPI_Comm g;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &partner, &w, 1, &partner, &w, MPI_INFO_NULL, 1, &g);
    int gr;
    MPI_Comm_rank(g, &gr);
    int in, out, wt;
    MPI_Dist_graph_neighbors_count(g, &in, &out, &wt);
    int s, sw, d, dw;
    MPI_Dist_graph_neighbors(g, 1, &s, &sw, 1, &d, &dw);
    int ok = in == 1 && out == 1 && wt && s == (gr + n / 2) % n && d == s && sw == 5 && dw == 5;
    int got = -1;
    MPI_Neighbor_allgather(&gr, 1, MPI_INT, &got, 1, MPI_INT, g);
    ok = ok && got == s;
    MPI_Comm u;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &partner, MPI_UNWEIGHTED, 1, &partner, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 1, &u);
    MPI_Comm_rank(u, &gr);
    MPI_Dist_graph_neighbors_count(u, &in, &out, &wt);
    ok = ok && in == 1 && out == 1 && !wt;
    MPI_Comm e;
    int deg = 1;
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &r, &deg, &partner, &w, MPI_INFO_NULL, 1, &e);
    int er;
    MPI_Comm_rank(e, &er);
    got = -1;
    MPI_Neighbor_allgather(&er, 1, MPI_INT, &got, 1, MPI_INT, e);
    ok = ok && got == (er + n / 2) % n;
    int dims[2] = {2, n / 2}, per[2] = {0, 1};
    MPI_Comm c;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, per, 1, &c);
    int cr, co[2];
    MPI_Comm_rank(c, &cr);
    MPI_Cart_coords(c, cr, 2, co);
    ok = ok && co[0] == cr / (n / 2) && co[1] == cr % (n / 2);
    char all[64 * 64];
    MPI_Gather(host, 64, MPI_CHAR, all, 64, MPI_CHAR, 0, u);
    int same = 0;
    if (gr == 0)
        for (int i = 0; i < n / 2; i++)
            same += !strcmp(all + 64 * i, all + 64 * (i + n / 2));
    int bad = !ok, any;
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (gr == 0)
        printf("%s pairs on one host: %d of %d\n", any ? "wrong" : "all right", same, n / 2);
    MPI_Comm_free(&g);
    MPI_Comm_free(&u);
    MPI_Comm_free(&e);
    MPI_Comm_free(&c);
    MPI_Finalize();
    return 0;
}

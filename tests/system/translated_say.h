/* What programs say of themselves that run translated: a name and a number, by rank 0. */
#pragma once
#include <mpi.h>
#include <stdio.h>

static int rank, size;

static void say(const char* what, long value) {
    if (rank == 0)
        printf("%s %ld\n", what, value);
    fflush(stdout);
}

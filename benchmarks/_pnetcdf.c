/* All ranks write a few variables of one NetCDF file through PnetCDF, a slice at a time. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdlib.h>

enum { columns = 4096, slices = 64 };

int main(int argc, char** argv) {
    static float row[columns];
    int rank, ranks, file, dimensions[2], variable;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int at = 0; at < columns; ++at)
        row[at] = (float)(rank + at);
    if (ncmpi_create(MPI_COMM_WORLD, "out/field.nc", NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file))
        MPI_Abort(MPI_COMM_WORLD, 3);
    ncmpi_def_dim(file, "slice", slices, &dimensions[0]);
    ncmpi_def_dim(file, "column", (MPI_Offset)columns * ranks, &dimensions[1]);
    ncmpi_def_var(file, "field", NC_FLOAT, 2, dimensions, &variable);
    ncmpi_enddef(file);
    for (int slice = 0; slice < slices; ++slice) {
        const MPI_Offset begin[] = {slice, (MPI_Offset)rank * columns}, count[] = {1, columns};
        if (ncmpi_put_vara_float_all(file, variable, begin, count, row))
            MPI_Abort(MPI_COMM_WORLD, 4);
    }
    ncmpi_close(file);
    MPI_Finalize();
    return 0;
}

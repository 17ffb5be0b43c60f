/* hdf5_file FILE: all ranks write three data sets and an attribute each into one file of parallel HDF5, and
 * print how that was made: the alignment, whether metadata are written collectively, and where the data lie.
 */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>

enum { sets = 3, values = 40000 };

int main(int argc, char** argv) {
    int rank, ranks;
    hsize_t threshold, alignment, total, begin, count = values;
    hbool_t together = 0;
    static double data[values];
    MPI_Init(&argc, &argv);
    if (argc != 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    total = (hsize_t)values * (hsize_t)ranks;
    begin = (hsize_t)values * (hsize_t)rank;
    for (int at = 0; at < values; ++at)
        data[at] = rank + at / 8.0;
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
    const hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    const hid_t used = H5Fget_access_plist(file);
    H5Pget_alignment(used, &threshold, &alignment);
    H5Pget_coll_metadata_write(used, &together);
    const hid_t all = H5Screate_simple(1, &total, NULL), own = H5Screate_simple(1, &count, NULL);
    H5Sselect_hyperslab(all, H5S_SELECT_SET, &begin, NULL, &count, NULL);
    for (int set = 0; set < sets; ++set) {
        char name[] = "set0";
        name[3] = (char)('0' + set);
        const hid_t into =
            H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, all, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        const hid_t one = H5Screate(H5S_SCALAR);
        const hid_t step = H5Acreate2(into, "step", H5T_NATIVE_INT, one, H5P_DEFAULT, H5P_DEFAULT);
        H5Awrite(step, H5T_NATIVE_INT, &set);
        if (H5Dwrite(into, H5T_NATIVE_DOUBLE, own, all, transfer, data) < 0)
            MPI_Abort(MPI_COMM_WORLD, 3);
        H5Fflush(file, H5F_SCOPE_GLOBAL);
        if (rank == 0)
            printf("set %d at %llu\n", set, (unsigned long long)H5Dget_offset(into));
        H5Aclose(step);
        H5Dclose(into);
    }
    H5Fclose(file);
    unsigned long long own_alignment = 0;
    H5Pget_alignment(access, &threshold, &alignment);
    own_alignment = alignment;
    H5Pget_alignment(used, &threshold, &alignment);
    if (rank == 0)
        printf("alignment %llu, metadata together %d, the program's own %llu\n",
               (unsigned long long)alignment, together, own_alignment);
    MPI_Finalize();
    return 0;
}

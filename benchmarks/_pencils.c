/* A 3-D FFT in pencils, there and back again: each rank holds whole lines along one dimension, and two
 * transpositions, all-to-all in the rows and in the columns of a grid of ranks, turn them to the other two.
 *
 *   mpiexec -n 16 ./pencils [points per edge, a power of two, 64] [times, 2]
 */
#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef double complex Value;
typedef enum { FORWARD = -1, BACKWARD = 1 } Direction;
typedef enum { FIRST, SECOND } Split; /* which index of a field the lines change places with */

/* A line in place (Cooley, Tukey 1965). */
static void transform(Value* line, int points, Direction direction) {
    for (int i = 1, j = 0; i < points; i++) {
        int bit = points / 2;
        for (; j & bit; bit /= 2)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            Value kept = line[i];
            line[i] = line[j];
            line[j] = kept;
        }
    }
    for (int width = 2; width <= points; width *= 2)
        for (int at = 0; at < width / 2; at++) {
            Value turn = cexp(direction * 2 * M_PI * I * at / width);
            for (int first = at; first < points; first += width) {
                Value odd = turn * line[first + width / 2];
                line[first + width / 2] = line[first] - odd;
                line[first] += odd;
            }
        }
}

/* field[first][second][points], with the lines split among the ranks of comm, becomes one whose lines run
 * along its first or second index. */
static void transpose(MPI_Comm comm, Split split, int* first, int* second, int points, Value* field,
                      Value* sent, Value* got) {
    int ranks;
    MPI_Comm_size(comm, &ranks);
    const int part = points / ranks, rows = *first, columns = *second;
    const size_t block = (size_t)rows * columns * part;
    for (int to = 0; to < ranks; to++)
        for (int row = 0; row < rows * columns; row++)
            memcpy(sent + to * block + (size_t)row * part, field + (size_t)row * points + to * part,
                   part * sizeof *sent);
    MPI_Alltoall(sent, (int)block, MPI_C_DOUBLE_COMPLEX, got, (int)block, MPI_C_DOUBLE_COMPLEX, comm);
    for (int from = 0; from < ranks; from++)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < columns; j++)
                for (int k = 0; k < part; k++) {
                    const Value value = got[from * block + ((size_t)i * columns + j) * part + k];
                    if (split == SECOND)
                        field[((size_t)i * part + k) * points + from * columns + j] = value;
                    else
                        field[((size_t)k * columns + j) * points + from * rows + i] = value;
                }
    *(split == SECOND ? second : first) = part;
}

static void all_lines(Value* field, int lines, int points, Direction direction) {
    for (int line = 0; line < lines; line++)
        transform(field + (size_t)line * points, points, direction);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int points = argc > 1 ? atoi(argv[1]) : 64, times = argc > 2 ? atoi(argv[2]) : 2;
    int ranks, rank, grid[2] = {0, 0}, wraps[2] = {0, 0}, keeps_row[2] = {0, 1}, keeps_column[2] = {1, 0};
    MPI_Comm world, row, column;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, grid);
    MPI_Cart_create(MPI_COMM_WORLD, 2, grid, wraps, 0, &world);
    MPI_Comm_rank(world, &rank);
    MPI_Cart_sub(world, keeps_row, &row);
    MPI_Cart_sub(world, keeps_column, &column);
    if (points < 2 || points & (points - 1) || points % grid[0] || points % grid[1]) {
        fprintf(stderr, "pencils: %d points on %d x %d ranks\n", points, grid[0], grid[1]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int first = points / grid[0], second = points / grid[1];
    const size_t size = (size_t)first * second * points;
    Value *field = malloc(3 * size * sizeof *field), *sent = field + size, *got = sent + size;
    for (size_t i = 0; i < size; i++)
        field[i] = sin((double)i + rank) + I * cos(2.0 * (double)i - rank);
    for (int time = 0; time < times; time++)
        for (Direction direction = FORWARD; direction <= BACKWARD; direction += BACKWARD - FORWARD) {
            all_lines(field, first * second, points, direction);
            transpose(row, SECOND, &first, &second, points, field, sent, got);
            all_lines(field, first * second, points, direction);
            transpose(column, FIRST, &first, &second, points, field, sent, got);
            all_lines(field, first * second, points, direction);
            /* Back the way they came, so that lines run along the third dimension again. */
            transpose(column, FIRST, &first, &second, points, field, sent, got);
            transpose(row, SECOND, &first, &second, points, field, sent, got);
        }
    double error = 0, worst;
    const double scale = pow((double)points * points * points, times);
    for (size_t i = 0; i < size; i++)
        error =
            fmax(error, cabs(field[i] / scale - (sin((double)i + rank) + I * cos(2.0 * (double)i - rank))));
    MPI_Reduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, 0, world);
    if (rank == 0)
        printf("%s\n", worst < 1e-9 ? "right" : "wrong");
    free(field);
    MPI_Finalize();
    return 0;
}

/*
 * Stands in for plumb-run in a fleet job: do the launcher's ranks really wait for each other?
 *
 * The last rank comes to MPI_Finalize() a second after the others. A rank that leaves it before has
 * passed a fence of the launcher that did not hold; MPI_Init() ends with just such a one, and who
 * leaves that too early talks to ranks that cannot listen yet, which kills them.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* late --version: a line for the job. late -o FILE: FILE.late is there once the last comes. */
int main(int argc, char **argv)
{
    char path[4096] = "";
    int rank, count;
    FILE *file;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    if (argc == 2 && rank == 0)
        puts("late");
    if (argc > 2)
        snprintf(path, sizeof(path), "%s.late", argv[2]);
    if (argc > 2 && rank == count - 1) {
        sleep(1);
        file = fopen(path, "we");
        if (file == NULL || fclose(file) != 0)
            perror(path);
    }
    MPI_Finalize();
    if (argc > 2)
        printf("rank %d %s\n", rank, access(path, F_OK) == 0 ? "waited" : "did not wait");
    return EXIT_SUCCESS;
}

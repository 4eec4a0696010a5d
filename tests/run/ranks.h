/* What tests of two ranks share; every case of theirs is collective. */
#ifndef PLUMB_TESTS_RUN_RANKS_H
#define PLUMB_TESTS_RUN_RANKS_H

#include <mpi.h>
#include <stdbool.h>

#include "run/unit.h"

static inline int my_rank(void)
{
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

/* Starts MPI; false: these are not two ranks, which CTest shows as skipped (exit code 77). */
static inline bool ranks_begin(void)
{
    int count;

    MPI_Init(NULL, NULL);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    if (count == 2)
        return true;
    print_message("to be run as two ranks\n");
    MPI_Finalize();
    return false;
}

#endif

/* Ends a program of this folder where a CUDA call fails: exit status 77 without a GPU, else 1. */
#ifndef PB_TESTS_GPU_CHECK_H
#define PB_TESTS_GPU_CHECK_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t result_ = (call);                                                              \
        if (result_ != cudaSuccess) {                                                              \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(result_));                       \
            exit(result_ == cudaErrorNoDevice || result_ == cudaErrorInsufficientDriver ? 77 : 1); \
        }                                                                                          \
    } while (0)

#endif

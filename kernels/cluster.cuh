/*
 * Launches of clusters of CTAs. A request has size, cta_count and shared_bytes.
 *
 * Limit: clusters are there from compute capability 9.0 on; before, a launch is refused.
 */
#ifndef PB_KERNELS_CLUSTER_CUH
#define PB_KERNELS_CLUSTER_CUH

#include <stdint.h>

/* The launch, and its one attribute, whose memory is the caller's. */
template <class Request>
static cudaLaunchConfig_t pb_cluster_config(const Request *request, uint32_t threads,
                                            cudaLaunchAttribute *attribute)
{
    cudaLaunchConfig_t config = {};

    attribute->id = cudaLaunchAttributeClusterDimension;
    attribute->val.clusterDim.x = request->size;
    attribute->val.clusterDim.y = attribute->val.clusterDim.z = 1;
    config.gridDim = dim3(request->cta_count);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = request->shared_bytes;
    config.attrs = attribute;
    config.numAttrs = 1;
    return config;
}

/* Clusters of 16 run on some devices only: those take the second attribute. */
template <class Request>
static cudaError_t pb_cluster_allow(void (*kernel)(Request), const Request *request)
{
    cudaError_t code = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            (int)request->shared_bytes);

    if (code == cudaSuccess)
        code = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed,
                                    request->size > 8);
    return code;
}

/* How many clusters of an allowed kernel run at once: 0 where the device has none of this size.
 * code: of what came before. */
template <class Request>
static cudaError_t pb_cluster_count(cudaError_t code, void (*kernel)(Request),
                                    const cudaLaunchConfig_t *config, int *count_out)
{
    int count = 0;

    if (code == cudaSuccess)
        code = cudaOccupancyMaxActiveClusters(&count, kernel, config);
    if (code == cudaErrorInvalidClusterSize || code == cudaErrorNotSupported ||
        code == cudaErrorInvalidValue || code == cudaErrorInvalidConfiguration) {
        cudaGetLastError();
        code = cudaSuccess;
        count = 0;
    }
    *count_out = count;
    return code;
}

#endif

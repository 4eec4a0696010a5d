# Looks for a CUDA toolkit and picks the architectures it knows. Sets PLUMB_HAVE_CUDA.
set(PLUMB_HAVE_CUDA OFF)
if(PLUMB_CUDA STREQUAL "OFF")
    message(STATUS "CUDA backend: left out (PLUMB_CUDA=OFF)")
    return()
endif()

include(CheckLanguage)
# The real architecture list follows below, once the compiler is known.
set(CMAKE_CUDA_ARCHITECTURES OFF)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
    if(PLUMB_CUDA STREQUAL "ON")
        message(FATAL_ERROR "CUDA backend: PLUMB_CUDA=ON, but no CUDA compiler was found")
    endif()
    message(STATUS "CUDA backend: left out, no CUDA compiler on the path; simulated GPUs only")
    return()
endif()

enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
set(CMAKE_CUDA_STANDARD 17)
set(PLUMB_HAVE_CUDA ON)

# Those of the wanted architectures that this nvcc can build, and PTX of the newest of them.
execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch
    OUTPUT_VARIABLE known OUTPUT_STRIP_TRAILING_WHITESPACE)
set(PLUMB_CUDA_ARCHITECTURES "")
foreach(arch 75 80 86 89 90 100 120)
    if(known MATCHES "compute_${arch}(\n|$)")
        list(APPEND PLUMB_CUDA_ARCHITECTURES ${arch})
    endif()
endforeach()
set(architectures ${PLUMB_CUDA_ARCHITECTURES})
list(TRANSFORM architectures APPEND -real)
list(GET PLUMB_CUDA_ARCHITECTURES -1 newest)
list(APPEND architectures ${newest}-virtual)
set(CMAKE_CUDA_ARCHITECTURES ${architectures})
message(STATUS "CUDA backend: ${CMAKE_CUDA_COMPILER_VERSION}, architectures ${architectures}")

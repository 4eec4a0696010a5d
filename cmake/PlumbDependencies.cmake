# Libraries that all builds need. GSL is linked by analysis/ alone: it is GPL and must not meet CUDA.
find_package(PkgConfig REQUIRED)
find_package(ZLIB REQUIRED)
find_package(LibLZMA REQUIRED)
find_package(Threads REQUIRED)
find_package(HDF5 REQUIRED COMPONENTS C HL)
find_package(MPI REQUIRED COMPONENTS C)
find_package(GSL REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)

add_library(plumb_hdf5 INTERFACE)
target_include_directories(plumb_hdf5 SYSTEM INTERFACE ${HDF5_INCLUDE_DIRS})
target_compile_definitions(plumb_hdf5 INTERFACE ${HDF5_DEFINITIONS} H5_USE_110_API)
target_link_libraries(plumb_hdf5 INTERFACE ${HDF5_HL_LIBRARIES} ${HDF5_LIBRARIES})

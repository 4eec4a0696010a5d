# Installing, removing, and Debian packages.
#
# Two components, because GSL (GPL) must not meet CUDA: `measure` has the battery, the ranks and the
# tracer; `analysis` has the programs that read fleet files. A build with the CUDA backend names the
# first package plumb-cuda, one without it plumb-sim; they hold the same files, so only one can be
# installed.
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT analysis)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT analysis)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/plumb-measure COMPONENT measure)
install(FILES packaging/modulefiles/plumb DESTINATION ${CMAKE_INSTALL_DATADIR}/plumb/modulefiles COMPONENT analysis)
install(FILES python/plumb_fleet.py DESTINATION ${CMAKE_INSTALL_DATADIR}/plumb/python COMPONENT analysis)

# cmake --build BUILD --target uninstall: takes away what the last `cmake --install` wrote.
configure_file(${CMAKE_CURRENT_LIST_DIR}/uninstall.cmake.in ${CMAKE_BINARY_DIR}/uninstall.cmake @ONLY)
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -P ${CMAKE_BINARY_DIR}/uninstall.cmake)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME plumb)
set(CPACK_PACKAGE_VENDOR "the plumb developers")
set(CPACK_PACKAGE_CONTACT "the plumb developers <plumb@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL measure analysis)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
if(PLUMB_HAVE_CUDA)
    set(CPACK_DEBIAN_MEASURE_PACKAGE_NAME plumb-cuda)
    set(other plumb-sim)
else()
    set(CPACK_DEBIAN_MEASURE_PACKAGE_NAME plumb-sim)
    set(other plumb-cuda)
endif()
set(CPACK_DEBIAN_MEASURE_PACKAGE_CONFLICTS ${other})
set(CPACK_DEBIAN_MEASURE_PACKAGE_REPLACES ${other})
set(CPACK_DEBIAN_MEASURE_PACKAGE_PROVIDES plumb-measure)
set(CPACK_DEBIAN_MEASURE_PACKAGE_DEPENDS openmpi-bin)
set(CPACK_DEBIAN_MEASURE_PACKAGE_RECOMMENDS plumb-analysis)
set(CPACK_DEBIAN_ANALYSIS_PACKAGE_NAME plumb-analysis)
set(CPACK_DEBIAN_ANALYSIS_PACKAGE_SUGGESTS "plumb-measure, python3-h5py, python3-xarray")
set(CPACK_COMPONENT_MEASURE_DESCRIPTION
    "Measures the memory hierarchy of every GPU of a job, or of simulated ones, into one HDF5 file.")
set(CPACK_COMPONENT_ANALYSIS_DESCRIPTION
    "Infers cache, TLB and shared-memory parameters from plumb's files, judges fleets, and explains kernels.")
include(CPack)

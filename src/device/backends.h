/*
 * The backends, one row each, in the order in which "auto" tries them. To add one is to add a row
 * here, its folder src/device/NAME/ with a CMakeLists.txt that defines pb_device_NAME, and, where
 * it needs a toolkit, cmake/PlumbNAME.cmake with its option.
 *
 * This file has no include guard: whoever includes it defines PB_BACKEND first.
 *
 * PB_BACKEND(name, built, toolkit)
 *   name     the folder, the word of --backend, and pb_device_NAME
 *   built    PB_HAVE_NAME: 1 where this build has it, else 0
 *   toolkit  what a build needs for it
 */
PB_BACKEND(cuda, PB_HAVE_CUDA, "CUDA")
PB_BACKEND(sim, PB_HAVE_SIM, "simulation")

#undef PB_BACKEND

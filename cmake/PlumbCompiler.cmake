# Flags of all host code, on one interface target that every layer links. Fixed text fields are cut
# to fit on purpose, hence no warning about that.
add_library(plumb_options INTERFACE)
target_compile_definitions(plumb_options INTERFACE _GNU_SOURCE)
target_compile_options(plumb_options INTERFACE
    $<$<COMPILE_LANGUAGE:C>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wvla;-Wstrict-prototypes;-Wmissing-prototypes;-Wpointer-arith;-Wwrite-strings;-Wundef>
    $<$<COMPILE_LANG_AND_ID:C,GNU>:-Wno-format-truncation>)
if(PLUMB_WERROR)
    target_compile_options(plumb_options INTERFACE $<$<COMPILE_LANGUAGE:C>:-Werror>)
endif()
# Sanitizers without any optimisation take twice as long to find the same; whole stacks are kept.
if(PLUMB_SANITIZE)
    set(flags -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
        -fno-optimize-sibling-calls $<$<CONFIG:Debug>:-O1>)
    target_compile_options(plumb_options INTERFACE "$<$<COMPILE_LANGUAGE:C>:${flags}>")
    target_link_options(plumb_options INTERFACE -fsanitize=address,undefined)
endif()

# One version, in CMakeLists.txt; programs and files get it from here.
target_compile_definitions(plumb_options INTERFACE PLUMB_VERSION="${PROJECT_VERSION}")

# A layer: a static library whose headers are included as "layer/header.h".
function(plumb_layer name)
    cmake_parse_arguments(LAYER "" "" "SOURCES;USES" ${ARGN})
    add_library(${name} STATIC ${LAYER_SOURCES})
    target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PUBLIC plumb_options ${LAYER_USES})
endfunction()

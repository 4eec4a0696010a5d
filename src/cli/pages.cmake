# Manual pages and completion of shells, made from the option table (option_table.c).
add_executable(pb-option-pages option_pages.c)
target_link_libraries(pb-option-pages PRIVATE plumb_command)

# A program is a file plumb-NAME.c, and has a row in option_table.c.
file(GLOB programs RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS plumb-*.c)
list(TRANSFORM programs REPLACE "\\.c$" "")
file(GLOB profiles RELATIVE ${PROJECT_SOURCE_DIR}/src/device/sim/profiles CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/src/device/sim/profiles/*.json)
list(TRANSFORM profiles REPLACE "\\.json$" "")
set(pages ${PROJECT_BINARY_DIR}/share)
file(MAKE_DIRECTORY ${pages}/man/man1 ${pages}/bash-completion/completions ${pages}/zsh/site-functions)

set(made)
# plumb_page(KIND PROGRAM FILE ARGUMENT...): one file from the table, and where it is installed.
function(plumb_page kind program path)
    add_custom_command(OUTPUT ${pages}/${path} COMMAND pb-option-pages ${kind} ${program} ${ARGN}
        > ${pages}/${path} DEPENDS pb-option-pages VERBATIM)
    get_filename_component(folder ${path} DIRECTORY)
    set(component analysis)
    if(program IN_LIST measuring)
        set(component measure)
    endif()
    install(FILES ${pages}/${path} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder}
        COMPONENT ${component})
    set(made ${made} ${pages}/${path} PARENT_SCOPE)
endfunction()
foreach(program ${programs})
    plumb_page(man ${program} man/man1/${program}.1 ${PLUMB_RELEASE_DATE})
    plumb_page(bash ${program} bash-completion/completions/${program} ${profiles})
    plumb_page(zsh ${program} zsh/site-functions/_${program} ${profiles})
endforeach()
add_custom_target(option-pages ALL DEPENDS ${made})

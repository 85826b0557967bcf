# SPDX-License-Identifier: Apache-2.0
# The allocators, from the only list of them, include/quarry/alloc/list.def.
#
# Input   QUARRY_DIRECT_ALLOCATORS   those that get kernels of their own beside the first of each family, or "all"
# Output  QUARRY_ALLOCATORS          their identifiers, in the list's order
#         QUARRY_DIRECT              those of them that have kernels of their own
#         QUARRY_COUNTED             those of these that are named, not only the first of a family: they have such kernels
#                                    for counts of steps and cycles, too
#         QUARRY_VARIANTS            the others: their family's code with other constants.  They run in kernels that have
#                                    all allocators' code, and in fewer of the short tests.

set(QUARRY_DIRECT_ALLOCATORS "rw;rw_bm;crw;corw" CACHE STRING
    "allocators with kernels of their own, beside the first of each family; or all")

set(quarry_list "${PROJECT_SOURCE_DIR}/include/quarry/alloc/list.def")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${quarry_list}")
file(STRINGS "${quarry_list}" quarry_entries REGEX "^QUARRY_ALLOCATOR_ENTRY\\(")
set(QUARRY_ALLOCATORS "")
set(QUARRY_DIRECT "")
set(QUARRY_COUNTED "")
set(QUARRY_VARIANTS "")
set(quarry_families "")
foreach(entry IN LISTS quarry_entries)
    if(NOT entry MATCHES "^QUARRY_ALLOCATOR_ENTRY\\(([a-z0-9_]+), \"[^\"]*\", ([a-z0-9_]+),")
        message(FATAL_ERROR "${quarry_list}: this line is not an entry: ${entry}")
    endif()
    set(allocator "${CMAKE_MATCH_1}")
    set(family "${CMAKE_MATCH_2}")
    list(APPEND QUARRY_ALLOCATORS "${allocator}")
    if(QUARRY_DIRECT_ALLOCATORS STREQUAL "all" OR allocator IN_LIST QUARRY_DIRECT_ALLOCATORS)
        list(APPEND QUARRY_DIRECT "${allocator}")
        list(APPEND QUARRY_COUNTED "${allocator}")
    elseif(NOT family IN_LIST quarry_families)
        list(APPEND QUARRY_DIRECT "${allocator}")
    else()
        list(APPEND QUARRY_VARIANTS "${allocator}")
    endif()
    list(APPEND quarry_families "${family}")
endforeach()

# SPDX-License-Identifier: Apache-2.0
# The allocators, from the only list of them, include/quarry/alloc/list.def.
#
# Input   QUARRY_DIRECT_ALLOCATORS   those that get kernels of their own beside the first of each family, or "all"
# Output  QUARRY_ALLOCATORS          their identifiers, in the list's order
#         QUARRY_DIRECT              those of them that have kernels of their own.  The others, which are variants of
#                                    these, run in kernels that have all allocators' code.

set(QUARRY_DIRECT_ALLOCATORS "crw;corw" CACHE STRING
    "allocators with kernels of their own, beside the first of each family; or all")

set(quarry_list "${PROJECT_SOURCE_DIR}/include/quarry/alloc/list.def")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${quarry_list}")
file(STRINGS "${quarry_list}" quarry_entries REGEX "^QUARRY_ALLOCATOR_ENTRY\\(")
set(QUARRY_ALLOCATORS "")
set(QUARRY_DIRECT "")
set(quarry_families "")
foreach(entry IN LISTS quarry_entries)
    if(NOT entry MATCHES "^QUARRY_ALLOCATOR_ENTRY\\(([a-z0-9_]+), \"[^\"]*\", ([a-z0-9_]+),")
        message(FATAL_ERROR "${quarry_list}: this line is not an entry: ${entry}")
    endif()
    set(allocator "${CMAKE_MATCH_1}")
    set(family "${CMAKE_MATCH_2}")
    list(APPEND QUARRY_ALLOCATORS "${allocator}")
    if(NOT family IN_LIST quarry_families OR QUARRY_DIRECT_ALLOCATORS STREQUAL "all"
       OR allocator IN_LIST QUARRY_DIRECT_ALLOCATORS)
        list(APPEND QUARRY_DIRECT "${allocator}")
    endif()
    list(APPEND quarry_families "${family}")
endforeach()

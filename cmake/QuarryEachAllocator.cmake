# SPDX-License-Identifier: Apache-2.0
# Compiles kernels once for each allocator: bench/each_allocator.h says how they are written.
#
#   quarry_add_kernel_for_each_allocator(target [COMPOSED] file...)
#
# adds, for each allocator of list.def, a file to the target that defines QUARRY_ALLOCATOR and QUARRY_OOM, so that heaps
# must be plain, and includes the source; with COMPOSED, a file for heaps with policies instead, which defines
# QUARRY_ALLOCATOR only.  The target's own sources have QUARRY_EACH_ALLOCATOR defined.
#
#   quarry_add_traced_kernel(target file...)
#
# adds a file for each source that defines QUARRY_TRACE and QUARRY_OOM and includes it.  Recorded runs are not for the time:
# each kernel has all allocators' code, out of line.

function(quarry_add_kernel_for_each_allocator target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "COMPOSED" "" "")
    foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
        cmake_path(GET source FILENAME name)
        foreach(allocator IN LISTS QUARRY_ALLOCATORS)
            set(suffix "${allocator}")
            set(policies "#define QUARRY_OOM null\n")
            if(arg_COMPOSED)
                string(APPEND suffix "_composed")
                set(policies "#define EACH_SUFFIX ${suffix}\n")
            endif()
            set(file "${CMAKE_CURRENT_BINARY_DIR}/each/${target}/${suffix}/${name}")
            file(CONFIGURE OUTPUT "${file}"
                 CONTENT "#define QUARRY_ALLOCATOR ${allocator}\n${policies}#include \"${source}\"\n")
            quarry_add_kernel(${target} "${file}")
        endforeach()
    endforeach()
    target_compile_definitions(${target} PRIVATE QUARRY_EACH_ALLOCATOR=1)
endfunction()

function(quarry_add_traced_kernel target)
    foreach(source IN LISTS ARGN)
        cmake_path(GET source FILENAME name)
        set(file "${CMAKE_CURRENT_BINARY_DIR}/each/${target}/traced/${name}")
        file(CONFIGURE OUTPUT "${file}" CONTENT "#define QUARRY_TRACE 1
#define QUARRY_OOM null
#define EACH_SUFFIX traced
#ifndef QUARRY_OUT_OF_LINE
#define QUARRY_OUT_OF_LINE 1
#endif
#include \"${source}\"
")
        quarry_add_kernel(${target} "${file}")
    endforeach()
endfunction()

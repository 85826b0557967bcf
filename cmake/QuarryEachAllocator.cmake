# SPDX-License-Identifier: Apache-2.0
# Compiles kernels once for each allocator that has kernels of its own: bench/each_allocator.h says how they are written.
#
#   quarry_add_direct_kernels(target name source...)
#
# adds a file NAME.c for each allocator of QUARRY_DIRECT to the target, which defines QUARRY_ALLOCATOR, and QUARRY_OOM, so
# that heaps must be plain, and includes all the sources: in one file, because nvcc takes a second before it comes to the
# first kernel.  The target's own sources see EACH_SUFFIX_OF_..., which says for each allocator whose kernels are its.

function(quarry_add_direct_kernels target name)
    set(includes "")
    foreach(source IN LISTS ARGN)
        string(APPEND includes "#include \"${source}\"\n")
    endforeach()
    foreach(allocator IN LISTS QUARRY_DIRECT)
        set(file "${CMAKE_CURRENT_BINARY_DIR}/each/${target}/${allocator}/${name}.c")
        file(CONFIGURE OUTPUT "${file}"
             CONTENT "#define QUARRY_ALLOCATOR ${allocator}\n#define QUARRY_OOM null\n${includes}")
        quarry_add_kernel(${target} "${file}")
    endforeach()
endfunction()

function(quarry_define_suffixes target)
    foreach(allocator IN LISTS QUARRY_ALLOCATORS)
        set(suffix any)
        if(allocator IN_LIST QUARRY_DIRECT)
            set(suffix ${allocator})
        endif()
        target_compile_definitions(${target} PRIVATE EACH_SUFFIX_OF_${allocator}=${suffix})
    endforeach()
    target_compile_definitions(${target} PRIVATE QUARRY_EACH_ALLOCATOR=1)
endfunction()

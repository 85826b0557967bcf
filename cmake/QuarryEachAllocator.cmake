# SPDX-License-Identifier: Apache-2.0
# Compiles kernels with all allocators' code, and once for each allocator that has kernels of its own.  bench/each_allocator.h
# says how they are written.
#
#   quarry_add_switch_kernels(target name source...)
#
# adds a file NAME.c to the target that includes all the sources, so that the allocators' code, which is out of line, is
# compiled once for their kernels.
#
#   quarry_add_direct_kernels(target name suffix allocators source...)
#
# adds a file NAME.c for each of these allocators, which defines QUARRY_ALLOCATOR, and QUARRY_OOM, so that heaps
# must be plain, and includes all the sources: in one file, because nvcc takes a second before it comes to the first kernel.
# The target's own sources see SUFFIX_..., EACH_SUFFIX_OF_corw for example, which says for each allocator whose kernels are
# its.

# Makes the file and adds it; `definitions` stand before the includes.
function(quarry_add_kernels_in_one target file definitions)
    set(text "${definitions}")
    foreach(source IN LISTS ARGN)
        string(APPEND text "#include \"${source}\"\n")
    endforeach()
    set(file "${CMAKE_CURRENT_BINARY_DIR}/each/${target}/${file}")
    file(CONFIGURE OUTPUT "${file}" CONTENT "${text}")
    quarry_add_kernel(${target} "${file}")
    # On the CPU a debugger has lines and no variables, unless the build type is Debug: a quarter of the time.
    set_property(SOURCE "${file}" APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:RelWithDebInfo>:-g1>)
endfunction()

function(quarry_add_switch_kernels target name)
    set(QUARRY_NVCC_RELOCATABLE ON)
    quarry_add_kernels_in_one(${target} any/${name}.c "" ${ARGN})
endfunction()

function(quarry_add_direct_kernels target name suffix allocators)
    set(suffixes QUARRY_EACH_ALLOCATOR=1)
    foreach(allocator IN LISTS allocators)
        quarry_add_kernels_in_one(${target} ${allocator}/${name}.c
                                  "#define QUARRY_ALLOCATOR ${allocator}\n#define QUARRY_OOM null\n" ${ARGN})
    endforeach()
    foreach(allocator IN LISTS QUARRY_ALLOCATORS)
        set(kernels any)
        if(allocator IN_LIST allocators)
            set(kernels ${allocator})
        endif()
        list(APPEND suffixes ${suffix}_${allocator}=${kernels})
    endforeach()
    target_compile_definitions(${target} PRIVATE ${suffixes})
endfunction()

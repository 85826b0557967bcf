# SPDX-License-Identifier: Apache-2.0
# Compiles kernels for both backends.  Included by the build of Quarry and installed for its users.
#
#   quarry_add_kernel(target file...)
#
# adds C or C++ sources that hold kernels to a target of the same folder: compiled as they are for the CPU and,
# with CUDA, by nvcc for the GPU as well, with the target's include folders and definitions, each time with
# -DSIMT_DUAL.
#
# What it reads, all set by the build or by find_package(quarry):
#   QUARRY_WITH_CUDA            whether there is a GPU backend; without, files are compiled for the CPU only
#   QUARRY_CUDART               the CUDA runtime to link, the one that the library itself uses
#   QUARRY_CUDA_ARCHITECTURES   numbers such as 75;80;90, or native; may be set by the user
#   QUARRY_NVCC_FLAGS           more options for nvcc; may be set by the user
#   QUARRY_NVCC_RELOCATABLE     if set, each file is linked for the GPU by itself: functions that are not inlined are then
#                               compiled once for all kernels of the file, and not once for each kernel.  Quicker to
#                               compile, slower to run.
#   CUDAToolkit_...             from find_package(CUDAToolkit)
#
# nvcc is run by custom commands and not through CMake's CUDA language.  One file has two views, which one
# target can't hold in two languages; and CUDA as a language of the library would make every C program that
# links it enable CUDA too.

cmake_minimum_required(VERSION 3.25) # also for the policies of these functions, whatever the user's project says

set(QUARRY_CUDA_MIN_VERSION 12.8) # older ones were not tried

# What is wrong with the toolkit that find_package(CUDAToolkit) looked for; nothing if kernels can be compiled.
function(quarry_nvcc_problem result)
    set(problem "")
    if(NOT CUDAToolkit_FOUND OR NOT CUDAToolkit_NVCC_EXECUTABLE)
        set(problem "no nvcc in PATH, CUDA_PATH/bin or /usr/local/cuda/bin")
    elseif(CUDAToolkit_VERSION VERSION_LESS QUARRY_CUDA_MIN_VERSION)
        set(problem "CUDA ${CUDAToolkit_VERSION} is older than ${QUARRY_CUDA_MIN_VERSION}")
    endif()
    set(${result} "${problem}" PARENT_SCOPE)
endfunction()

# Options that name the GPUs to compile for.
function(quarry_nvcc_architectures result)
    if(QUARRY_CUDA_ARCHITECTURES STREQUAL "native")
        set(${result} -arch=native PARENT_SCOPE)
        return()
    endif()
    # Machine code for each, and PTX of the newest for the chips that come after it.
    set(flags "")
    list(SORT QUARRY_CUDA_ARCHITECTURES COMPARE NATURAL)
    foreach(arch IN LISTS QUARRY_CUDA_ARCHITECTURES)
        list(APPEND flags -gencode=arch=compute_${arch},code=sm_${arch})
    endforeach()
    list(GET QUARRY_CUDA_ARCHITECTURES -1 arch)
    list(APPEND flags -gencode=arch=compute_${arch},code=compute_${arch})
    set(${result} "${flags}" PARENT_SCOPE)
endfunction()

function(quarry_add_kernel target)
    if(NOT DEFINED QUARRY_WITH_CUDA)
        message(FATAL_ERROR "quarry_add_kernel: call find_package(quarry) in this folder or in one above it.")
    endif()
    if(ARGN MATCHES "\\.c(;|$)" AND NOT CMAKE_C_COMPILER_LOADED) # in this folder: Quarry's own may have it
        # CMake would leave the file out without a word.
        message(FATAL_ERROR "quarry_add_kernel: ${ARGN}: the project doesn't enable the language C.")
    endif()
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "OBJECT_LIBRARY")
        message(FATAL_ERROR "quarry_add_kernel: ${target} is an OBJECT library, and CMake would not pass on what nvcc "
                            "makes: use a STATIC one.")
    endif()
    target_sources(${target} PRIVATE ${ARGN})
    if(NOT QUARRY_WITH_CUDA)
        return()
    endif()
    # The CUDA runtime, privately.  target_link_libraries would bind the user to one of its two signatures.
    set_property(TARGET ${target} APPEND PROPERTY LINK_LIBRARIES ${QUARRY_CUDART})
    if(type STREQUAL "STATIC_LIBRARY")
        set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_LIBRARIES $<LINK_ONLY:${QUARRY_CUDART}>)
    endif()

    # Without exceptions and guarded statics, which only the launch stubs that nobody calls would use, the
    # objects need no C++ runtime and C programs link them with the C compiler.
    quarry_nvcc_architectures(machine)
    list(APPEND machine -Xfatbin=-compress-all) # also what has -lineinfo: else it is five times as large
    set(flags -x cu -std=c++17 -O3 ${machine} -DSIMT_DUAL -Xcompiler=-fno-exceptions,-fno-threadsafe-statics
        # -lineinfo lets compute-sanitizer and profilers name source lines.
        $<$<CONFIG:Debug,RelWithDebInfo>:-g> $<$<CONFIG:Debug,RelWithDebInfo>:-lineinfo>
        $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-DNDEBUG> # as CMake does for C
        $<$<BOOL:$<TARGET_PROPERTY:${target},POSITION_INDEPENDENT_CODE>>:-Xcompiler=-fPIC>
        $<$<STREQUAL:$<TARGET_PROPERTY:${target},C_VISIBILITY_PRESET>,hidden>:-Xcompiler=-fvisibility=hidden>
        ${QUARRY_NVCC_FLAGS})
    set(link "")
    if(QUARRY_NVCC_RELOCATABLE)
        list(APPEND flags -rdc=true)
        set(link COMMAND "${CUDAToolkit_NVCC_EXECUTABLE}" -dlink ${machine}
                 $<$<BOOL:$<TARGET_PROPERTY:${target},POSITION_INDEPENDENT_CODE>>:-Xcompiler=-fPIC>)
    endif()
    # Naming /usr/include would move it before the C++ headers that build on it.
    set(includes "$<FILTER:$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>,EXCLUDE,^/usr/include/?$>")
    set(definitions "$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>")
    foreach(file IN LISTS ARGN)
        set_property(SOURCE "${file}" APPEND PROPERTY COMPILE_DEFINITIONS SIMT_DUAL)
        cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE OUTPUT_VARIABLE source)
        cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE relative)
        # A source outside the project, too, has its object in the build folder.
        string(REPLACE "../" "__/" inside "${relative}")
        set(object "${CMAKE_CURRENT_BINARY_DIR}/cuda/${target}/${inside}.cuda.o")
        cmake_path(GET object PARENT_PATH folder)
        file(MAKE_DIRECTORY "${folder}")
        set(objects "${object}")
        set(link_object "")
        if(link)
            list(APPEND objects "${object}.link.o")
            set(link_object ${link} -o "${object}.link.o" "${object}")
        endif()
        add_custom_command(
            OUTPUT ${objects}
            COMMAND "${CUDAToolkit_NVCC_EXECUTABLE}" ${flags}
                    "$<$<BOOL:${includes}>:-I$<JOIN:${includes},;-I>>"
                    "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>"
                    -MMD -MF "${object}.d" -MT "${object}" -c -o "${object}" "${source}"
            ${link_object}
            DEPENDS "${source}"
            DEPFILE "${object}.d"
            COMMENT "Building CUDA object ${relative} for ${target}"
            COMMAND_EXPAND_LISTS VERBATIM)
        target_sources(${target} PRIVATE ${objects})
    endforeach()
endfunction()

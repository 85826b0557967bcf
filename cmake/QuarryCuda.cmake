# SPDX-License-Identifier: Apache-2.0
# Finds CUDA and compiles kernels for both backends.
#
# Input   QUARRY_CUDA                 AUTO (use CUDA if it is found), ON (fail without) or OFF
#         QUARRY_CUDA_ARCHITECTURES   numbers such as 75;80;90, or native
# Output  QUARRY_WITH_CUDA            whether the GPU backend is built
#         QUARRY_CUDART               the CUDA runtime to link
#         quarry_add_kernel(target file...)
#
# nvcc is run by custom commands and not through CMake's CUDA language.  One file has two views, which one
# target can't hold in two languages; and CUDA as a language of the library would make every C program that
# links it enable CUDA too.

set(QUARRY_CUDA AUTO CACHE STRING "GPU backend: AUTO, ON or OFF")
set(QUARRY_CUDA_ARCHITECTURES "75;80;90" CACHE STRING "GPU architectures, or native")
set(QUARRY_CUDA_MIN_VERSION 12.8) # the first with the __nv_atomic built-ins

set(QUARRY_WITH_CUDA OFF)
set(quarry_no_cuda "")
if(QUARRY_CUDA STREQUAL "OFF")
    set(quarry_no_cuda "switched off")
else()
    # Looks at CUDAToolkit_ROOT, CUDA_PATH, an nvcc in PATH, and /usr/local/cuda.
    find_package(CUDAToolkit QUIET)
    if(NOT CUDAToolkit_FOUND OR NOT CUDAToolkit_NVCC_EXECUTABLE)
        set(quarry_no_cuda "no nvcc in PATH, CUDA_PATH/bin or /usr/local/cuda/bin")
    elseif(CUDAToolkit_VERSION VERSION_LESS QUARRY_CUDA_MIN_VERSION)
        set(quarry_no_cuda "CUDA ${CUDAToolkit_VERSION} is older than ${QUARRY_CUDA_MIN_VERSION}")
    else()
        if(NOT QUARRY_NVCC_WORKS STREQUAL CUDAToolkit_NVCC_EXECUTABLE)
            set(quarry_probe "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/quarry_nvcc_probe")
            file(WRITE "${quarry_probe}.cu" "__global__ void probe() {}\n")
            execute_process(COMMAND "${CUDAToolkit_NVCC_EXECUTABLE}" -c -o "${quarry_probe}.o" "${quarry_probe}.cu"
                            RESULT_VARIABLE quarry_failed OUTPUT_VARIABLE quarry_output ERROR_VARIABLE quarry_output)
            if(quarry_failed)
                set(quarry_no_cuda "${CUDAToolkit_NVCC_EXECUTABLE} can't compile (is g++ installed?): ${quarry_output}")
            else()
                set(QUARRY_NVCC_WORKS "${CUDAToolkit_NVCC_EXECUTABLE}" CACHE INTERNAL "nvcc that compiled a probe")
            endif()
        endif()
        if(NOT quarry_no_cuda)
            set(QUARRY_WITH_CUDA ON)
        endif()
    endif()
    if(QUARRY_CUDA STREQUAL "ON" AND NOT QUARRY_WITH_CUDA)
        message(FATAL_ERROR "QUARRY_CUDA=ON: ${quarry_no_cuda}")
    endif()
endif()

if(QUARRY_WITH_CUDA)
    message(STATUS "GPU backend: CUDA ${CUDAToolkit_VERSION}, architectures ${QUARRY_CUDA_ARCHITECTURES}")
    # A static runtime inside a shared library is invisible to the program's own kernels.
    if(BUILD_SHARED_LIBS)
        set(QUARRY_CUDART CUDA::cudart)
    else()
        set(QUARRY_CUDART CUDA::cudart_static)
    endif()

    # Without exceptions and guarded statics, which only the launch stubs that nobody calls would use, the
    # objects need no C++ runtime and C programs link them with the C compiler.
    set(quarry_nvcc_flags -x cu -std=c++17 -O3 -DSIMT_DUAL
        -Xcompiler=-Wall,-Wextra,-fno-exceptions,-fno-threadsafe-statics)
    if(QUARRY_WERROR)
        list(APPEND quarry_nvcc_flags -Werror=all-warnings -Xcompiler=-Werror)
    endif()
    if(BUILD_SHARED_LIBS)
        list(APPEND quarry_nvcc_flags -Xcompiler=-fPIC)
    endif()
    if(QUARRY_CUDA_ARCHITECTURES STREQUAL "native")
        list(APPEND quarry_nvcc_flags -arch=native)
    else()
        # Machine code for each, and PTX of the newest for the chips that come after it.
        list(SORT QUARRY_CUDA_ARCHITECTURES COMPARE NATURAL)
        foreach(quarry_arch IN LISTS QUARRY_CUDA_ARCHITECTURES)
            list(APPEND quarry_nvcc_flags -gencode=arch=compute_${quarry_arch},code=sm_${quarry_arch})
        endforeach()
        list(GET QUARRY_CUDA_ARCHITECTURES -1 quarry_arch)
        list(APPEND quarry_nvcc_flags -gencode=arch=compute_${quarry_arch},code=compute_${quarry_arch})
    endif()
    # -lineinfo lets compute-sanitizer and profilers name source lines.
    list(APPEND quarry_nvcc_flags $<$<CONFIG:Debug,RelWithDebInfo>:-g> $<$<CONFIG:Debug,RelWithDebInfo>:-lineinfo>
         $<$<NOT:$<CONFIG:Debug>>:-DNDEBUG>)
else()
    message(STATUS "GPU backend: not built (${quarry_no_cuda})")
endif()

# quarry_add_kernel(target file...): adds device sources to a target, compiled by the C compiler for the CPU
# and, with CUDA, by nvcc for the GPU as well, with the target's include folders and definitions.
function(quarry_add_kernel target)
    foreach(file IN LISTS ARGN)
        target_sources(${target} PRIVATE "${file}")
        if(NOT QUARRY_WITH_CUDA)
            continue()
        endif()
        set_source_files_properties("${file}" PROPERTIES COMPILE_DEFINITIONS SIMT_DUAL)
        cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE OUTPUT_VARIABLE source)
        cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE relative)
        set(object "${CMAKE_CURRENT_BINARY_DIR}/cuda/${target}/${relative}.cuda.o")
        cmake_path(GET object PARENT_PATH folder)
        file(MAKE_DIRECTORY "${folder}")
        # Naming /usr/include would move it before the C++ headers that build on it.
        set(includes "$<FILTER:$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>,EXCLUDE,^/usr/include/?$>")
        set(definitions "$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>")
        add_custom_command(
            OUTPUT "${object}"
            COMMAND "${CUDAToolkit_NVCC_EXECUTABLE}" ${quarry_nvcc_flags}
                    "$<$<BOOL:${includes}>:-I$<JOIN:${includes},;-I>>"
                    "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>"
                    -MMD -MF "${object}.d" -MT "${object}" -c -o "${object}" "${source}"
            DEPENDS "${source}"
            DEPFILE "${object}.d"
            COMMENT "Building CUDA object ${relative} for ${target}"
            COMMAND_EXPAND_LISTS VERBATIM)
        target_sources(${target} PRIVATE "${object}")
        target_link_libraries(${target} PRIVATE ${QUARRY_CUDART})
    endforeach()
endfunction()

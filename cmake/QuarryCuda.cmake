# SPDX-License-Identifier: Apache-2.0
# Decides whether the GPU backend is built.
#
# Input   QUARRY_CUDA                 AUTO (use CUDA if it is found), ON (fail without) or OFF
#         QUARRY_CUDA_ARCHITECTURES   numbers such as 75;80;90, or native; default: the GPUs of this machine, or 90
#                                     where there is none; a package is configured with 75;80;90
# Output  what QuarryKernel.cmake reads
#         QUARRY_GPUS                 architectures of this machine's GPUs, if nvcc and Quarry know them all; else empty
#         QUARRY_NVCC_QUICK           options of nvcc that make it quick and its code slow, where there is no GPU

include(QuarryKernel)

set(QUARRY_CUDA AUTO CACHE STRING "GPU backend: AUTO, ON or OFF")

function(quarry_find_gpus result)
    execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                    RESULT_VARIABLE failed OUTPUT_VARIABLE here ERROR_QUIET TIMEOUT 30)
    execute_process(COMMAND "${CUDAToolkit_NVCC_EXECUTABLE}" --list-gpu-code OUTPUT_VARIABLE known ERROR_QUIET)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]" here "${here}")
    string(REPLACE "." "" here "${here}")
    list(REMOVE_DUPLICATES here)
    string(REGEX MATCHALL "[0-9]+" known "${known}")
    list(FILTER known EXCLUDE REGEX "^([1-6].|7[0-4])$")
    set(unknown "${here}")
    list(REMOVE_ITEM unknown ${known})
    if(NOT failed STREQUAL "0" OR NOT here OR unknown)
        set(here "")
    endif()
    set(${result} "${here}" PARENT_SCOPE)
endfunction()

set(QUARRY_WITH_CUDA OFF)
set(quarry_no_cuda "")
if(QUARRY_CUDA STREQUAL "OFF")
    set(quarry_no_cuda "switched off")
else()
    # Looks at CUDAToolkit_ROOT, CUDA_PATH, an nvcc in PATH, and /usr/local/cuda.
    find_package(CUDAToolkit QUIET)
    quarry_nvcc_problem(quarry_no_cuda)
    if(NOT quarry_no_cuda AND NOT QUARRY_NVCC_WORKS STREQUAL CUDAToolkit_NVCC_EXECUTABLE)
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
    elseif(QUARRY_CUDA STREQUAL "ON")
        message(FATAL_ERROR "QUARRY_CUDA=ON: ${quarry_no_cuda}")
    endif()
endif()

if(QUARRY_WITH_CUDA)
    if(NOT DEFINED CACHE{QUARRY_GPUS})
        quarry_find_gpus(quarry_here)
        set(QUARRY_GPUS "${quarry_here}" CACHE INTERNAL "architectures of this machine's GPUs")
    endif()
    set(QUARRY_NVCC_QUICK "")
    execute_process(COMMAND "${CUDAToolkit_NVCC_EXECUTABLE}" --help OUTPUT_VARIABLE quarry_output)
    if(NOT QUARRY_GPUS AND quarry_output MATCHES "--Ofast-compile") # which 12.8 lacks
        set(QUARRY_NVCC_QUICK --Ofast-compile=max)
    endif()
    set(quarry_default "${QUARRY_GPUS}")
    if(NOT quarry_default)
        set(quarry_default 90)
    endif()
    set(QUARRY_CUDA_ARCHITECTURES "${quarry_default}" CACHE STRING "GPU architectures, or native")
    message(STATUS "GPU backend: CUDA ${CUDAToolkit_VERSION}, architectures ${QUARRY_CUDA_ARCHITECTURES}")
    # A static runtime inside a shared library is invisible to the program's own kernels.
    if(BUILD_SHARED_LIBS)
        set(QUARRY_CUDART CUDA::cudart)
    else()
        set(QUARRY_CUDART CUDA::cudart_static)
    endif()
    set(QUARRY_NVCC_FLAGS -Xcompiler=-Wall,-Wextra)
    if(QUARRY_WERROR)
        list(APPEND QUARRY_NVCC_FLAGS -Werror=all-warnings -Xcompiler=-Werror)
    endif()
else()
    message(STATUS "GPU backend: not built (${quarry_no_cuda})")
endif()

# SPDX-License-Identifier: Apache-2.0
# Warnings and sanitizers, for every C source of the project.

# Strict C11, and all that the C library has.
add_compile_options(-D_GNU_SOURCE)
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wmissing-prototypes)
if(QUARRY_WERROR)
    add_compile_options(-Werror)
endif()

if(QUARRY_SANITIZE)
    if(NOT QUARRY_SANITIZE MATCHES "^(address|undefined|address,undefined|undefined,address|thread|weak)$")
        message(FATAL_ERROR "QUARRY_SANITIZE=${QUARRY_SANITIZE}: use address, undefined, address,undefined, thread or weak.")
    endif()
    if(QUARRY_SANITIZE STREQUAL "thread" AND NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "QUARRY_SANITIZE=thread needs clang (gcc's runtime stops at 8128 fibers): "
                            "configure with -DCMAKE_C_COMPILER=clang.")
    endif()
    if(NOT QUARRY_SANITIZE STREQUAL "weak")
        add_compile_options(-fsanitize=${QUARRY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
        add_link_options(-fsanitize=${QUARRY_SANITIZE})
    endif()
endif()

# Mode weak (src/cpu/weak.h): it names lines of source by gcc's libbacktrace, whose header lies beside it.
if(QUARRY_SANITIZE STREQUAL "weak")
    execute_process(COMMAND "${CMAKE_C_COMPILER}" -print-file-name=libbacktrace.a OUTPUT_VARIABLE file
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    cmake_path(GET file PARENT_PATH folder)
    find_library(QUARRY_BACKTRACE NAMES backtrace HINTS "${folder}" DOC "libbacktrace, of gcc")
    find_path(QUARRY_BACKTRACE_INCLUDE backtrace.h HINTS "${folder}/include" DOC "folder of backtrace.h")
    if(NOT QUARRY_BACKTRACE OR NOT QUARRY_BACKTRACE_INCLUDE)
        message(FATAL_ERROR "QUARRY_SANITIZE=weak: libbacktrace was not found: install gcc, which has it.")
    endif()
endif()

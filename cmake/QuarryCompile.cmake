# SPDX-License-Identifier: Apache-2.0
# Warnings and sanitizers, for every C source of the project.

# Strict C11, and all that the C library has.
add_compile_options(-D_GNU_SOURCE)
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wmissing-prototypes)
if(QUARRY_WERROR)
    add_compile_options(-Werror)
endif()

if(QUARRY_SANITIZE)
    if(NOT QUARRY_SANITIZE MATCHES "^(address|undefined|address,undefined|undefined,address|thread)$")
        message(FATAL_ERROR "QUARRY_SANITIZE=${QUARRY_SANITIZE}: use address, undefined, address,undefined or thread.")
    endif()
    if(QUARRY_SANITIZE STREQUAL "thread" AND NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "QUARRY_SANITIZE=thread needs clang (gcc's runtime stops at 8128 fibers): "
                            "configure with -DCMAKE_C_COMPILER=clang.")
    endif()
    add_compile_options(-fsanitize=${QUARRY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${QUARRY_SANITIZE})
endif()

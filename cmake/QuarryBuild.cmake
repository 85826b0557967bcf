# SPDX-License-Identifier: Apache-2.0
# Writes the C source of tool/build.h.  It says from which commit and by which compilers the command was built.
# It is written when the command is built and not when the build is configured, so the commit is that of the sources.
#
# As a module of the build: quarry_add_build(target).  As a script, with -P: -DSOURCE=folder -DOUTPUT=file
# -DCOMPILER=text

if(NOT CMAKE_SCRIPT_MODE_FILE)
    set(quarry_build_script "${CMAKE_CURRENT_LIST_FILE}")
    function(quarry_add_build target)
        set(file "${CMAKE_CURRENT_BINARY_DIR}/build-of/${target}.c")
        set(compiler "${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}")
        if(QUARRY_WITH_CUDA)
            string(APPEND compiler ", nvcc ${CUDAToolkit_VERSION}")
        endif()
        add_custom_target(${target}_build
            COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUTPUT=${file} "-DCOMPILER=${compiler}"
                    -P "${quarry_build_script}"
            BYPRODUCTS "${file}" VERBATIM)
        add_dependencies(${target} ${target}_build)
        target_sources(${target} PRIVATE "${file}")
    endfunction()
    return()
endif()

set(commit "")
find_program(git git)
if(git)
    execute_process(COMMAND "${git}" -C "${SOURCE}" describe --always --dirty --abbrev=12 --exclude=*
                    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT commit)
    set(commit unknown)
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT
     "#include \"build.h\"\n\nconst char build_commit[] = \"${commit}\";\nconst char build_compiler[] = \"${COMPILER}\";\n")

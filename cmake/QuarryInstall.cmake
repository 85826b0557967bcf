# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` installs and `cpack` packs.  Nothing in it names the build folder or the prefix, so
# an installed tree can be moved.

include(CMakePackageConfigHelpers)

set(quarry_cmake "${CMAKE_INSTALL_LIBDIR}/cmake/quarry")
set(quarry_generated "${CMAKE_CURRENT_BINARY_DIR}/package")

install(TARGETS quarry EXPORT quarryTargets)
install(TARGETS quarry_command)
install(FILES "${quarry_completion}" DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
if(QUARRY_HELP2MAN)
    install(DIRECTORY "${quarry_man}" DESTINATION ${CMAKE_INSTALL_MANDIR})
endif()
install(DIRECTORY include/quarry DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})

# ---- CMake package -------------------------------------------------------------------------------

install(EXPORT quarryTargets NAMESPACE quarry:: DESTINATION ${quarry_cmake})
get_target_property(quarry_type quarry TYPE)
configure_file(cmake/quarryConfig.cmake.in "${quarry_generated}/quarryConfig.cmake" @ONLY)
# Before version 1, each minor version may break what the one before had.
write_basic_package_version_file("${quarry_generated}/quarryConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${quarry_generated}/quarryConfig.cmake" "${quarry_generated}/quarryConfigVersion.cmake"
              cmake/QuarryKernel.cmake cmake/QuarryBoostContext.cmake
        DESTINATION ${quarry_cmake})

# ---- pkg-config ----------------------------------------------------------------------------------

# cmake_path(APPEND) keeps an absolute folder as it is.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig"
           OUTPUT_VARIABLE quarry_pc_up)
set(quarry_pc_libdir "\${prefix}")
cmake_path(APPEND quarry_pc_libdir "${CMAKE_INSTALL_LIBDIR}")
set(quarry_pc_includedir "\${prefix}")
cmake_path(APPEND quarry_pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
configure_file(cmake/quarry.pc.in "${quarry_generated}/quarry.pc" @ONLY)
install(FILES "${quarry_generated}/quarry.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# ---- Debian package: cpack -G DEB ----------------------------------------------------------------

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME libquarry-dev)
set(CPACK_PACKAGE_VENDOR Quarry)
set(CPACK_PACKAGE_CONTACT "Quarry developers <quarry@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION "Dynamic memory for massively parallel programs: kernels on CUDA GPUs, or on a
CPU that executes warps, allocate and free memory by themselves.  The library, its headers, what CMake and
pkg-config need to find it, and the command quarry.")
if(QUARRY_WITH_CUDA)
    string(APPEND CPACK_PACKAGE_DESCRIPTION "\nThis package has the GPU backend: programs that link the library \
need the CUDA toolkit ${CUDAToolkit_VERSION_MAJOR}, which Debian doesn't have.")
endif()
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS python3-matplotlib) # quarry report
set(CPACK_DEBIAN_PACKAGE_DEPENDS libc6-dev)
if(NOT BUILD_SHARED_LIBS)
    string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", libboost-context-dev, zlib1g-dev")
endif()
# What the command needs, with versions, where that can be found out.  A shared CUDA runtime is in no package.
find_program(QUARRY_SHLIBDEPS NAMES dpkg-shlibdeps DOC "finds what Debian packages a binary depends on")
mark_as_advanced(QUARRY_SHLIBDEPS)
if(QUARRY_SHLIBDEPS AND NOT (BUILD_SHARED_LIBS AND QUARRY_WITH_CUDA))
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
else()
    string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", libc6, zlib1g, libjansson4")
endif()
include(CPack)

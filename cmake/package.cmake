# SPDX-License-Identifier: BSD-3-Clause
# `cpack`: Debian packages of the library, what is needed to build with it, and the tools; elsewhere
# an archive. The preset "package" builds for /usr, where a distribution has its files:
#   cmake --workflow --preset package
find_program(CSREC_DPKG dpkg-shlibdeps)
set(CPACK_GENERATOR TGZ)
if(CSREC_DPKG)
  set(CPACK_GENERATOR DEB)
endif()
set(CPACK_PACKAGE_NAME csrecover)
set(CPACK_PACKAGE_VENDOR "csrecover")
set(CPACK_PACKAGE_CONTACT "The csrecover authors <csrecover@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime development tools)
if(CSREC_MPI_PLUGINS)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()

# One package a component. Dependencies on other packages are found from the libraries that are
# linked (dpkg-shlibdeps); those between ours are exact.
set(CSREC_RUNTIME_PACKAGE libcsrec${CSREC_SOVERSION})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${CSREC_RUNTIME_PACKAGE})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libcsrec-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# Nothing in it is linked; whoever links the static library, or asks pkg-config, needs these.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libpng-dev, zlib1g-dev, libzip-dev, libopenblas-dev${CSREC_FORMAT_DEBS}")
# For every MPI that the build found. A plug-in is loaded only under its MPI's launcher, so the
# package needs none of them.
set(CPACK_DEBIAN_MPI_PACKAGE_NAME ${CSREC_RUNTIME_PACKAGE}-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_MPI_PACKAGE_SUGGESTS "openmpi-bin | mpich")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME csrecover)
include(CPack)
cpack_add_component(runtime DESCRIPTION "Shared library libcsrec.")
cpack_add_component(tools DEPENDS runtime
                    DESCRIPTION "The tools ${CSREC_TOOL_NAMES}, their manual and the handbook.")

set(development_needs runtime)
if(CSREC_MPI_PLUGINS)
  list(APPEND development_needs mpi)
  cpack_add_component(mpi DEPENDS runtime DESCRIPTION "libcsrec under mpirun, mpiexec and srun.")
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${CSREC_RUNTIME_PACKAGE}-mpi
          RENAME copyright COMPONENT mpi)
endif()
cpack_add_component(development DEPENDS ${development_needs}
                    DESCRIPTION "Headers, static library, CMake and pkg-config files of libcsrec.")

# Policy wants the licence beside each package's files.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${CSREC_RUNTIME_PACKAGE}
        RENAME copyright COMPONENT runtime)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libcsrec-dev RENAME copyright
        COMPONENT development)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/csrecover RENAME copyright
        COMPONENT tools)

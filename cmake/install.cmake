# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` puts where: libraries, headers, tools, manual pages, completions, handbook,
# CMake package, pkg-config file. All paths are relative to the prefix, so an installed tree can be
# moved. Components (runtime, development, tools) become packages: see package.cmake.
include(CMakePackageConfigHelpers)

set(CSREC_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/csrec)
set(CSREC_PKGCONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH CSREC_BIN_TO_LIB /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
file(RELATIVE_PATH CSREC_PC_TO_PREFIX /${CSREC_PKGCONFIG_DIR} /)

# Two export sets: whoever links the shared library needs none of its dependencies.
install(TARGETS csrec EXPORT csrecTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        COMPONENT runtime NAMELINK_COMPONENT development)
install(TARGETS csrec_static EXPORT csrecStaticTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        COMPONENT development)
# Loaded under a launcher, from beside the library, and linked by programs with communicators of
# their own: find_package(csrec COMPONENTS mpi), or csrec_mpi*.pc.
if(CSREC_MPI_PLUGINS)
  install(TARGETS ${CSREC_MPI_PLUGINS} EXPORT csrecMpiTargets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT mpi)
  install(FILES include/csrec_mpi.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
  install(FILES cmake/mpiKind.cmake DESTINATION ${CSREC_PACKAGE_DIR} COMPONENT development)
  install(EXPORT csrecMpiTargets NAMESPACE csrec:: DESTINATION ${CSREC_PACKAGE_DIR}
          COMPONENT development)
  foreach(name ${CSREC_MPI_PLUGINS})
    configure_file(cmake/csrec_mpi.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CSREC_PKGCONFIG_DIR}
            COMPONENT development)
  endforeach()
endif()
install(FILES include/csrec.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(DIRECTORY include/csrec DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

# Under /usr the loader finds the library by itself, and zsh looks elsewhere than in /usr/local.
set(CSREC_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(CSREC_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
elseif(CSREC_TOOLS)
  set(CSREC_ORIGIN $<IF:$<PLATFORM_ID:Darwin>,@loader_path,$ORIGIN>)
  set_target_properties(${CSREC_TOOLS} PROPERTIES
                        INSTALL_RPATH "${CSREC_ORIGIN}/${CSREC_BIN_TO_LIB}")
endif()
if(CSREC_TOOLS)
  install(TARGETS ${CSREC_TOOLS} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
endif()
foreach(tool ${CSREC_TOOLS})
  install(FILES ${CSREC_MANUAL_DIR}/${tool}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
          COMPONENT tools)
  install(FILES ${CSREC_MANUAL_DIR}/bash/${tool}
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT tools)
  install(FILES ${CSREC_MANUAL_DIR}/zsh/_${tool} DESTINATION ${CSREC_ZSH_DIR} COMPONENT tools)
  install(FILES ${CSREC_MANUAL_DIR}/fish/${tool}.fish
          DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT tools)
endforeach()
# Priors, which the library finds beside itself, here and there (src/learn/net/prior_files.c).
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/share/csrecover ${PROJECT_BINARY_DIR}/share
     COPY_ON_ERROR SYMBOLIC)
install(DIRECTORY share/csrecover DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT runtime
        FILES_MATCHING PATTERN "prior-*.npz" PATTERN README.md)
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/csrecover COMPONENT tools)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/csrecover COMPONENT tools)

install(EXPORT csrecTargets NAMESPACE csrec:: DESTINATION ${CSREC_PACKAGE_DIR}
        COMPONENT development)
install(EXPORT csrecStaticTargets NAMESPACE csrec:: DESTINATION ${CSREC_PACKAGE_DIR}
        COMPONENT development)
configure_package_config_file(cmake/csrecConfig.cmake.in ${PROJECT_BINARY_DIR}/csrecConfig.cmake
                              INSTALL_DESTINATION ${CSREC_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/csrecConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/csrecConfig.cmake ${PROJECT_BINARY_DIR}/csrecConfigVersion.cmake
        DESTINATION ${CSREC_PACKAGE_DIR} COMPONENT development)

configure_file(cmake/csrec.pc.in ${PROJECT_BINARY_DIR}/csrec.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/csrec.pc DESTINATION ${CSREC_PKGCONFIG_DIR} COMPONENT development)

if(PROJECT_IS_TOP_LEVEL)
  include(cmake/package.cmake)
endif()

# SPDX-License-Identifier: BSD-3-Clause
# Communicators of MPI processes: libcsrec_mpi for the system's MPI, and libcsrec_mpi_openmpi and
# libcsrec_mpi_mpich for those that pkg-config knows. libcsrec loads them under a launcher
# (src/comm/join.c) and needs none of them; programs with communicators of their own link one
# (csrecConfig.cmake). Sets CSREC_MPI_PLUGINS, and CSREC_MPI_KIND: whose the system's MPI is.
set(CSREC_MPI AUTO CACHE STRING "MPI: AUTO (if found), ON (required), OFF")
set_property(CACHE CSREC_MPI PROPERTY STRINGS AUTO ON OFF)
set(CSREC_MPI_PLUGINS "")
set(CSREC_MPI_KIND "")
include(${CMAKE_CURRENT_LIST_DIR}/mpiKind.cmake)

function(csrec_mpi_plugin name mpi)
  add_library(${name} SHARED ${PROJECT_SOURCE_DIR}/mpi/comm.c)
  target_link_libraries(${name} PUBLIC csrec PRIVATE csrec_flags ${mpi})
  set_target_properties(${name} PROPERTIES INSTALL_RPATH "$ORIGIN")
  list(APPEND CSREC_MPI_PLUGINS ${name})
  set(CSREC_MPI_PLUGINS ${CSREC_MPI_PLUGINS} PARENT_SCOPE)
endfunction()

if(NOT CSREC_MPI STREQUAL "OFF")
  find_package(MPI 3.0 COMPONENTS C QUIET)
  if(MPI_C_FOUND)
    csrec_mpi_plugin(csrec_mpi MPI::MPI_C)
    csrec_mpi_kind(CSREC_MPI_KIND ${MPI_C_INCLUDE_DIRS})
  elseif(CSREC_MPI STREQUAL "ON")
    csrec_need(MPI_C_FOUND "MPI >= 3.0 (or use CSREC_MPI=OFF)" libopenmpi-dev)
    csrec_stop_if_missing()
  endif()
  foreach(kind openmpi mpich)
    string(REPLACE openmpi ompi-c module ${kind})
    string(TOUPPER ${kind} name)
    pkg_check_modules(${name} QUIET IMPORTED_TARGET ${module})
    if(${name}_FOUND)
      csrec_mpi_plugin(csrec_mpi_${kind} PkgConfig::${name})
    endif()
  endforeach()
endif()

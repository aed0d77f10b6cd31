# SPDX-License-Identifier: BSD-3-Clause
# csrec_mpi_kind(OUT FOLDER...) - openmpi, mpich or other: whose mpi.h is in these folders.
function(csrec_mpi_kind out)
  set(kind other)
  find_file(header mpi.h PATHS ${ARGN} NO_DEFAULT_PATH NO_CACHE)
  if(header)
    file(STRINGS ${header} lines REGEX
         "^#define (OMPI_MAJOR_VERSION|MPICH_VERSION|I_MPI_VERSION|MVAPICH2?_VERSION)")
    if(lines MATCHES "OMPI_")
      set(kind openmpi)
    elseif(lines MATCHES "MPICH_VERSION" AND NOT lines MATCHES "I_MPI_|MVAPICH")
      set(kind mpich)
    endif()
  endif()
  set(${out} ${kind} PARENT_SCOPE)
endfunction()

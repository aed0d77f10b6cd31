# SPDX-License-Identifier: BSD-3-Clause
# Libraries that the build needs, and how to install what is missing.

# The package of each system by Debian's name: Debian, Fedora, Homebrew.
set(CSREC_PACKAGES
    "pkg-config pkgconf-pkg-config pkgconf"
    "gcc gcc libomp" # OpenMP
    "zlib1g-dev zlib-devel zlib"
    "libpng-dev libpng-devel libpng"
    "libzip-dev libzip-devel libzip"
    "libopenblas-dev openblas-devel openblas"
    "libjpeg-dev libjpeg-turbo-devel jpeg-turbo"
    "libtiff-dev libtiff-devel libtiff"
    "libcfitsio-dev cfitsio-devel cfitsio"
    "libopenexr-dev openexr-devel openexr"
    "libhdf5-dev hdf5-devel hdf5"
    "libfftw3-dev fftw-devel fftw"
    "libjansson-dev jansson-devel jansson"
    "libopenmpi-dev openmpi-devel open-mpi"
    "libcmocka-dev libcmocka-devel cmocka")

# csrec_how_to_install(RESULT PACKAGE...): commands that install packages, named as in Debian.
function(csrec_how_to_install result)
  foreach(package ${ARGN})
    set(names "${package} ${package} ${package}")
    foreach(row ${CSREC_PACKAGES})
      if(row MATCHES "^${package} ")
        set(names ${row})
      endif()
    endforeach()
    separate_arguments(names)
    foreach(system apt dnf brew)
      list(POP_FRONT names name)
      string(APPEND ${system} " ${name}")
    endforeach()
  endforeach()
  set(${result} "apt install${apt}; dnf install${dnf}; brew install${brew}" PARENT_SCOPE)
endfunction()

# csrec_find_kegs(FORMULA...): Homebrew does not link these into its prefix.
function(csrec_find_kegs)
  find_program(CSREC_BREW brew)
  foreach(formula ${ARGN})
    if(CSREC_BREW)
      execute_process(COMMAND ${CSREC_BREW} --prefix ${formula} OUTPUT_VARIABLE keg ERROR_QUIET
                      OUTPUT_STRIP_TRAILING_WHITESPACE)
      list(APPEND CMAKE_PREFIX_PATH ${keg})
    endif()
  endforeach()
  set(CMAKE_PREFIX_PATH "${CMAKE_PREFIX_PATH}" PARENT_SCOPE)
endfunction()

# csrec_need(FOUND LIBRARY PACKAGE): notes a library as missing unless FOUND is true.
set(CSREC_MISSING "")
set(CSREC_MISSING_PACKAGES "")
macro(csrec_need found library package)
  if(NOT ${found})
    list(APPEND CSREC_MISSING "${library}")
    list(APPEND CSREC_MISSING_PACKAGES ${package})
  endif()
endmacro()

# Stops with all that is missing at once.
function(csrec_stop_if_missing)
  if(CSREC_MISSING)
    csrec_how_to_install(how ${CSREC_MISSING_PACKAGES})
    list(JOIN CSREC_MISSING ", " names)
    string(REPLACE "; " "\n  " how "${how}")
    message(FATAL_ERROR "Missing, or too old: ${names}. To install:\n  ${how}")
  endif()
endfunction()

# SPDX-License-Identifier: BSD-3-Clause
# Formats of files that a user may do without. A row each: src/files/FOLDER is built where the library
# is found, and CSREC_HAS_NAME defined. Told to csrec.pc (CSREC_FORMAT_PC), csrecConfig.cmake
# (CSREC_FORMAT_MODULES) and the Debian package for developers (CSREC_FORMAT_DEBS).
set(CSREC_FORMAT_TARGETS "")
set(CSREC_FORMAT_DEFINITIONS "")
set(CSREC_FORMAT_MISSING "")
set(CSREC_FORMAT_PC "")
set(CSREC_FORMAT_MODULES "")
set(CSREC_FORMAT_DEBS "")

macro(csrec_file_format name folder module version deb)
  set(CSREC_${name} AUTO CACHE STRING "${module}: AUTO (if found), ON (required), OFF")
  set_property(CACHE CSREC_${name} PROPERTY STRINGS AUTO ON OFF)
  set(${name}_FOUND OFF)
  if(NOT CSREC_${name} STREQUAL "OFF")
    pkg_check_modules(${name} QUIET IMPORTED_TARGET ${module}>=${version} ${ARGN})
  endif()
  if(${name}_FOUND)
    list(APPEND CSREC_FORMAT_TARGETS PkgConfig::${name})
    list(APPEND CSREC_FORMAT_DEFINITIONS CSREC_HAS_${name})
    string(APPEND CSREC_FORMAT_PC ", ${module} >= ${version}")
    list(APPEND CSREC_FORMAT_MODULES "${name} ${module}>=${version}")
    string(APPEND CSREC_FORMAT_DEBS ", ${deb}")
  else()
    list(APPEND CSREC_FORMAT_MISSING ${folder})
    if(CSREC_${name} STREQUAL "ON")
      csrec_need(${name}_FOUND "${module} >= ${version} (or use CSREC_${name}=OFF)" ${deb})
    elseif(CSREC_${name} STREQUAL "AUTO")
      csrec_how_to_install(how ${deb})
      message(STATUS "${name} files are left out: no ${module} >= ${version} (${how})")
    endif()
  endif()
endmacro()

csrec_file_format(JPEG jpeg libjpeg 2.0 libjpeg-dev "libjpeg<6") # of libjpeg-turbo; others are 6 to 10
csrec_file_format(TIFF tiff libtiff-4 4.5 libtiff-dev) # whose messages go to a handler a file
csrec_file_format(FITS fits cfitsio 4.2 libcfitsio-dev) # with its patches against forged files
csrec_file_format(EXR exr OpenEXR 3.1 libopenexr-dev)
csrec_file_format(HDF5 hdf5 hdf5 1.10.7 libhdf5-dev) # which opens files without locks
csrec_stop_if_missing()

# Fourier transforms. PocketFFT (BSD) is a header of C++; FFTW is under the GNU GPL, which then also
# holds for the binaries of csrec that are passed on.
set(CSREC_FFT AUTO CACHE STRING
    "Fourier transforms: AUTO, pocketfft, fftw, free (AUTO without FFTW), OFF")
set_property(CACHE CSREC_FFT PROPERTY STRINGS AUTO pocketfft fftw free OFF)
set(CSREC_FFT_SOURCE src/base/fft/none.c)
if(CSREC_FFT MATCHES "^(AUTO|pocketfft|free)$")
  find_path(POCKETFFT_INCLUDE pocketfft_hdronly.h)
endif()
if(CSREC_FFT MATCHES "^(AUTO|fftw)$" AND NOT POCKETFFT_INCLUDE)
  pkg_check_modules(FFTW QUIET IMPORTED_TARGET fftw3>=3.3.8)
endif()
if(POCKETFFT_INCLUDE)
  enable_language(CXX)
  set(CSREC_FFT_SOURCE shim/fft.cc)
  set(runtime stdc++) # which users of the static library link, too
  if(APPLE)
    set(runtime c++)
  endif()
  list(APPEND CSREC_FORMAT_TARGETS ${runtime})
  string(APPEND CSREC_CUDA_PC_LIBS " -l${runtime}")
  string(APPEND CSREC_FORMAT_DEBS ", g++")
  set_source_files_properties(shim/fft.cc PROPERTIES INCLUDE_DIRECTORIES ${POCKETFFT_INCLUDE})
elseif(FFTW_FOUND)
  set(CSREC_FFT_SOURCE src/base/fft/fftw.c)
  list(APPEND CSREC_FORMAT_TARGETS PkgConfig::FFTW)
  string(APPEND CSREC_FORMAT_PC ", fftw3 >= 3.3.8")
  list(APPEND CSREC_FORMAT_MODULES "FFTW fftw3>=3.3.8")
  string(APPEND CSREC_FORMAT_DEBS ", libfftw3-dev")
  message(STATUS "Fourier transforms by FFTW: binaries that you pass on are under the GNU GPL "
                 "(CSREC_FFT=OFF leaves them out)")
elseif(CSREC_FFT MATCHES "^(pocketfft|fftw)$")
  csrec_need(FFTW_FOUND "${CSREC_FFT} (or use CSREC_FFT=OFF)" libfftw3-dev)
elseif(CSREC_FFT STREQUAL "free")
  message(STATUS "Fourier transforms are left out: no pocketfft_hdronly.h "
                 "(packaging/wheel/libraries.sh PREFIX pocketfft, CMAKE_PREFIX_PATH=PREFIX)")
elseif(CSREC_FFT STREQUAL "AUTO")
  csrec_how_to_install(how libfftw3-dev)
  message(STATUS "Fourier transforms are left out: no pocketfft_hdronly.h, no fftw3 >= 3.3.8 (${how})")
endif()
csrec_stop_if_missing()

# Frequencies off the grid. FINUFFT 2.5 is the first whose plans have adjoints and serve several
# threads; it has no file for pkg-config.
set(CSREC_FINUFFT AUTO CACHE STRING "FINUFFT: AUTO (if found), ON (required), OFF")
set_property(CACHE CSREC_FINUFFT PROPERTY STRINGS AUTO ON OFF)
if(NOT CSREC_FINUFFT STREQUAL "OFF")
  find_path(FINUFFT_INCLUDE finufft.h)
  find_library(FINUFFT_LIBRARY finufft)
  if(FINUFFT_INCLUDE AND FINUFFT_LIBRARY)
    file(STRINGS ${FINUFFT_INCLUDE}/finufft_eitherprec.h FINUFFT_FOUND REGEX "_execute_adjoint")
  endif()
  if(FINUFFT_FOUND)
    set_source_files_properties(src/base/nufft.c PROPERTIES INCLUDE_DIRECTORIES ${FINUFFT_INCLUDE})
    list(APPEND CSREC_FORMAT_TARGETS ${FINUFFT_LIBRARY})
    string(APPEND CSREC_CUDA_PC_LIBS " ${FINUFFT_LIBRARY}")
    list(APPEND CSREC_FORMAT_DEFINITIONS CSREC_HAS_FINUFFT)
  elseif(CSREC_FINUFFT STREQUAL "ON")
    csrec_need(FINUFFT_FOUND "FINUFFT >= 2.5 (or use CSREC_FINUFFT=OFF)" finufft)
  else()
    message(STATUS "Frequencies off the grid are left out: no FINUFFT >= 2.5")
  endif()
endif()
# Its twin for the device is of the same sources (-DFINUFFT_USE_CUDA=ON); without it a device has
# A^T A alone, which methods need most.
set(CSREC_CUFINUFFT AUTO CACHE STRING "cuFINUFFT: AUTO (if found), ON (required), OFF")
set_property(CACHE CSREC_CUFINUFFT PROPERTY STRINGS AUTO ON OFF)
if(CSREC_HAS_CUDA AND FINUFFT_FOUND AND NOT CSREC_CUFINUFFT STREQUAL "OFF")
  find_path(CUFINUFFT_INCLUDE cufinufft.h)
  find_library(CUFINUFFT_LIBRARY cufinufft)
  if(CUFINUFFT_INCLUDE AND CUFINUFFT_LIBRARY)
    set_source_files_properties(kernels/operator/nufft.cu PROPERTIES INCLUDE_DIRECTORIES
                                ${CUFINUFFT_INCLUDE})
    list(APPEND CSREC_FORMAT_TARGETS ${CUFINUFFT_LIBRARY})
    string(APPEND CSREC_CUDA_PC_LIBS " ${CUFINUFFT_LIBRARY}")
    list(APPEND CSREC_FORMAT_DEFINITIONS CSREC_HAS_CUFINUFFT)
  endif()
endif()
if(CSREC_CUFINUFFT STREQUAL "ON" AND NOT "CSREC_HAS_CUFINUFFT" IN_LIST CSREC_FORMAT_DEFINITIONS)
  csrec_need(OFF "cuFINUFFT >= 2.5 beside CUDA and FINUFFT (or use CSREC_CUFINUFFT=OFF)"
             cufinufft)
endif()
csrec_stop_if_missing()

# OpenEXR.pc names the C++ libraries, too; the C library, with its deflate, is enough.
if(EXR_FOUND)
  get_target_property(libraries PkgConfig::EXR INTERFACE_LINK_LIBRARIES)
  list(FILTER libraries INCLUDE REGEX "OpenEXRCore|deflate")
  if(libraries)
    set_target_properties(PkgConfig::EXR PROPERTIES INTERFACE_LINK_LIBRARIES "${libraries}")
  endif()
endif()

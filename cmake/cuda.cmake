# SPDX-License-Identifier: BSD-3-Clause
# The CUDA backend: AUTO takes it where a toolkit is found, ON demands it, OFF leaves it out. Sets
# CSREC_HAS_CUDA; CSREC_CUDA_SOURCES, CSREC_CUDA_LIBRARIES for the library; CSREC_CUDA_TARGETS and
# CSREC_CUDA_PC_LIBS for the installed package.
set(CSREC_CUDA AUTO CACHE STRING "CUDA backend: AUTO (if found), ON (required), OFF")
set_property(CACHE CSREC_CUDA PROPERTY STRINGS AUTO ON OFF)
set(CSREC_CUDA_VERSION 12.0)
set(CSREC_HAS_CUDA OFF)
set(CSREC_CUDA_SOURCES "")
set(CSREC_CUDA_LIBRARIES "")

if(NOT CSREC_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  find_package(CUDAToolkit ${CSREC_CUDA_VERSION} QUIET)
  # Machine code for 8.x and 9.x devices, PTX for those to come.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
    if(DEFINED ENV{CUDAARCHS}) # which CMake reads in a new folder alone
      set(CMAKE_CUDA_ARCHITECTURES $ENV{CUDAARCHS})
    endif()
  endif()
  if(CUDAToolkit_FOUND AND NOT CMAKE_CUDA_COMPILER AND CUDAToolkit_NVCC_EXECUTABLE)
    set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
  endif()
  check_language(CUDA)
  if(CUDAToolkit_FOUND AND CMAKE_CUDA_COMPILER)
    set(CSREC_HAS_CUDA ON)
  elseif(CSREC_CUDA STREQUAL "ON")
    message(FATAL_ERROR "CSREC_CUDA=ON: no CUDA toolkit >= ${CSREC_CUDA_VERSION} found; install "
                        "one, set CUDAToolkit_ROOT, or use CSREC_CUDA=OFF")
  endif()
endif()

if(CSREC_HAS_CUDA)
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 17)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -DNDEBUG")
  file(GLOB_RECURSE CSREC_CUDA_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/*.c
       ${PROJECT_SOURCE_DIR}/kernels/*.cu ${PROJECT_SOURCE_DIR}/shim/*.cu)
  # Thrust and CUB bring exceptions: users of the static library link the C++ runtime too.
  set(CSREC_CUDA_TARGETS CUDA::cudart_static)
  set(CSREC_CUDA_LIBRARIES ${CSREC_CUDA_TARGETS} stdc++)
  set(CSREC_CUDA_PC_LIBS "-L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lstdc++ -lpthread -ldl -lrt")
  # -fmad=false: each operation rounds as written, as on the CPU. Exact pursuits depend on it.
  set(CSREC_CUDA_FLAGS -fmad=false -Xcompiler=-Wall,-Wextra,-ffp-contract=off,-fno-math-errno)
  if(CSREC_WERROR)
    list(APPEND CSREC_CUDA_FLAGS -Werror=all-warnings -Xcompiler=-Werror)
  endif()
endif()
message(STATUS "CUDA backend: ${CSREC_HAS_CUDA}")

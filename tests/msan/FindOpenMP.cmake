# SPDX-License-Identifier: BSD-3-Clause
# OpenMP for the preset msan: clang's runtime is not instrumented, so that each value that passes
# through it would count as never written. The pragmas are ignored, and every call is one thread.
if(NOT TARGET OpenMP::OpenMP_C)
  add_library(OpenMP::OpenMP_C INTERFACE IMPORTED)
  target_include_directories(OpenMP::OpenMP_C INTERFACE ${CMAKE_CURRENT_LIST_DIR})
  # What only a pragma uses is unused.
  target_compile_options(OpenMP::OpenMP_C INTERFACE -Wno-unknown-pragmas -Wno-source-uses-openmp
    -Wno-unused-parameter -Wno-unused-variable)
endif()
set(OpenMP_FOUND TRUE)
set(OpenMP_C_FOUND TRUE)

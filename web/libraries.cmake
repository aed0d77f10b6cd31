# SPDX-License-Identifier: BSD-3-Clause
# For WebAssembly: the libraries that web/libraries.sh builds, and what stands for OpenMP and OpenBLAS.
set(CSREC_WEB_LIBRARIES ${PROJECT_BINARY_DIR}/libraries)
if(NOT EXISTS ${CSREC_WEB_LIBRARIES}/done)
  message(STATUS "Building zlib, libpng, libzip and libtiff (a minute)")
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/web/libraries.sh ${CSREC_WEB_LIBRARIES}
                  RESULT_VARIABLE failed OUTPUT_FILE ${PROJECT_BINARY_DIR}/libraries.log
                  ERROR_FILE ${PROJECT_BINARY_DIR}/libraries.log)
  if(failed)
    message(FATAL_ERROR "web/libraries.sh failed: see ${PROJECT_BINARY_DIR}/libraries.log")
  endif()
endif()
# Those of the machine, which pkg-config knows, are for another processor.
set(ENV{PKG_CONFIG_LIBDIR} ${CSREC_WEB_LIBRARIES}/lib/pkgconfig)
set(ENV{PKG_CONFIG_PATH} "")
list(PREPEND CMAKE_PREFIX_PATH ${CSREC_WEB_LIBRARIES})

# One thread, and plain loops for what no preset of pictures calls. What only OpenMP's
# lines name is unused.
add_library(csrec_web_shim INTERFACE)
target_include_directories(csrec_web_shim SYSTEM INTERFACE ${PROJECT_SOURCE_DIR}/web/shim)
target_compile_options(csrec_web_shim INTERFACE -msimd128 -Wno-unknown-pragmas
                       -Wno-source-uses-openmp -Wno-unused -Wno-unused-parameter)
set(CMAKE_POSITION_INDEPENDENT_CODE OFF) # it is slower, and nothing loads the module but a page
foreach(name OpenMP::OpenMP_C PkgConfig::OPENBLAS)
  add_library(${name} ALIAS csrec_web_shim)
endforeach()

# Pages load the module: the loops that take the time are those of the templates (web/CMakeLists.txt).
set(CMAKE_C_FLAGS_RELEASE "-Os -DNDEBUG")

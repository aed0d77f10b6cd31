# SPDX-License-Identifier: BSD-3-Clause
# Toolchain of the preset wasm: Emscripten's, that of emcc on the PATH (EMSCRIPTEN names another).
if(NOT EMSCRIPTEN_ROOT_PATH)
  set(EMSCRIPTEN_ROOT_PATH "$ENV{EMSCRIPTEN}")
endif()
if(NOT EMSCRIPTEN_ROOT_PATH)
  find_program(CSREC_EMCC emcc PATHS /usr/share/emscripten)
  if(NOT CSREC_EMCC)
    message(FATAL_ERROR "Missing: emcc of Emscripten >= 3.1.6. To install: apt install emscripten; or "
                        "emscripten.org's emsdk, whose emsdk_env.sh puts it on the PATH")
  endif()
  file(REAL_PATH ${CSREC_EMCC} EMSCRIPTEN_ROOT_PATH)
  get_filename_component(EMSCRIPTEN_ROOT_PATH ${EMSCRIPTEN_ROOT_PATH} DIRECTORY)
  if(NOT EXISTS ${EMSCRIPTEN_ROOT_PATH}/cmake AND EXISTS /usr/share/emscripten/cmake)
    set(EMSCRIPTEN_ROOT_PATH /usr/share/emscripten) # where Debian's emcc is a script
  endif()
endif()
# The libraries of web/libraries.sh are outside of the toolchain's root.
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
include(${EMSCRIPTEN_ROOT_PATH}/cmake/Modules/Platform/Emscripten.cmake)

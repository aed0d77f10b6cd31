# SPDX-License-Identifier: BSD-3-Clause
# Toolchain file for another processor of Linux, with Debian's cross compiler (tests/long/cross.sh):
#   cmake -DCMAKE_TOOLCHAIN_FILE=cmake/cross.cmake -DCSREC_CROSS=aarch64 -DCSREC_CROSS_ROOT=FOLDER ...
# CSREC_CROSS_ROOT holds that processor's libraries, as in a Debian system's root.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CSREC_CROSS CSREC_CROSS_ROOT)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${CSREC_CROSS})
set(CMAKE_C_COMPILER ${CSREC_CROSS}-linux-gnu-gcc)
set(CMAKE_SYSROOT ${CSREC_CROSS_ROOT})
set(CMAKE_LIBRARY_ARCHITECTURE ${CSREC_CROSS}-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-${CSREC_CROSS};-L;${CSREC_CROSS_ROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CSREC_CROSS_ROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CSREC_CROSS_ROOT}/usr/lib/${CSREC_CROSS}-linux-gnu/pkgconfig)

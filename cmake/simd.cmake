# SPDX-License-Identifier: BSD-3-Clause
# csrec_simd(TEMPLATE NAME [CONTRACT] [SETS set...]) - builds src/TEMPLATE_simd.h once for each
# instruction set, as the table or function NAME_<set>; base/cpu.h chooses among them at run time.
# SETS: besides generic, avx2 and avx512. The template finds in SIMD_TABLE what to define, and in
# SIMD_BYTES the size of a register.
#
# CONTRACT: a*b+c may be rounded once, as no exact grid depends on it.

set(CSREC_AVX512 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mprefer-vector-width=512)
set(CSREC_SIMD_FLAGS_avx2 -mavx2)
set(CSREC_SIMD_FLAGS_avx512 ${CSREC_AVX512})
set(CSREC_SIMD_FLAGS_vnni ${CSREC_AVX512} -mavx512vnni)
set(CSREC_SIMD_BYTES_generic 16)
set(CSREC_SIMD_BYTES_avx2 32)
set(CSREC_SIMD_BYTES_avx512 64)
set(CSREC_SIMD_BYTES_vnni 64)

function(csrec_simd template name)
  cmake_parse_arguments(PARSE_ARGV 2 simd "CONTRACT" "" "SETS")
  set(sets generic)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
    list(APPEND sets avx2 avx512 ${simd_SETS})
  endif()
  foreach(set ${sets})
    set(source ${PROJECT_BINARY_DIR}/simd/${template}_${set}.c)
    file(CONFIGURE OUTPUT ${source} CONTENT
"#define SIMD_TABLE ${name}_${set}
#define SIMD_BYTES ${CSREC_SIMD_BYTES_${set}}
#include \"${template}_simd.h\"
")
    set(flags ${CSREC_SIMD_FLAGS_${set}})
    if(simd_CONTRACT AND flags)
      list(APPEND flags -mfma -ffp-contract=fast)
    endif()
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${flags}")
    list(APPEND sources ${source})
  endforeach()
  set(CSREC_SOURCES ${CSREC_SOURCES} ${sources} PARENT_SCOPE)
endfunction()

# SPDX-License-Identifier: BSD-3-Clause
# The library, the tests that are linked with it and the tools call the functions of tests/msan/*.c in
# the place of those of other libraries.
file(GLOB CSREC_KNOWN CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.c)
add_library(csrec_known OBJECT ${CSREC_KNOWN})
target_link_libraries(csrec_known PRIVATE csrec_flags ${CSREC_DEPENDENCIES})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CSREC_KNOWN})
foreach(source ${CSREC_KNOWN})
  file(STRINGS ${source} called REGEX "^KNOWN")
  list(TRANSFORM called REPLACE "^KNOWN\\([^,]*, ([a-zA-Z0-9_]+),.*" "\\1=known_\\1")
  target_compile_definitions(csrec_objects PRIVATE ${called})
  target_compile_definitions(csrec_cli PRIVATE ${called})
  target_compile_definitions(csrec_static INTERFACE ${called})
endforeach()
foreach(lib csrec csrec_static csrec_cli)
  target_sources(${lib} PRIVATE $<TARGET_OBJECTS:csrec_known>)
endforeach()
target_compile_options(csrec_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:-fsanitize-memory-track-origins>)

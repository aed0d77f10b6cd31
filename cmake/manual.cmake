# SPDX-License-Identifier: BSD-3-Clause
# Manual pages and shell completions: printed by the tools themselves, from the tables that parse
# their options, so that neither can lag behind. A new tool in src/tools is picked up by itself.
set(CSREC_MANUAL_DIR ${PROJECT_BINARY_DIR}/manual)
set(CSREC_MANUAL "")

# csrec_print(FILE TOOL ARGUMENT...): a file of the build with what the tool prints.
function(csrec_print file tool)
  add_custom_command(OUTPUT ${CSREC_MANUAL_DIR}/${file}
    COMMAND ${tool} ${ARGN} > ${CSREC_MANUAL_DIR}/${file} DEPENDS ${tool}
    COMMENT "Printing ${file}" VERBATIM)
  list(APPEND CSREC_MANUAL ${CSREC_MANUAL_DIR}/${file})
  set(CSREC_MANUAL ${CSREC_MANUAL} PARENT_SCOPE)
endfunction()

file(MAKE_DIRECTORY ${CSREC_MANUAL_DIR}/bash ${CSREC_MANUAL_DIR}/zsh ${CSREC_MANUAL_DIR}/fish)
foreach(tool ${CSREC_TOOLS})
  csrec_print(${tool}.1 ${tool} --man)
  csrec_print(bash/${tool} ${tool} --completion bash)
  csrec_print(zsh/_${tool} ${tool} --completion zsh)
  csrec_print(fish/${tool}.fish ${tool} --completion fish)
endforeach()
add_custom_target(manual ALL DEPENDS ${CSREC_MANUAL})

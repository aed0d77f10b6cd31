# SPDX-License-Identifier: BSD-3-Clause
# cuda.cmake - whether a wheel brings the CUDA kernels, which take minutes to compile: where nvidia-smi
# lists a device that they run on, and then for its kind alone. What the caller defines stays:
# CSREC_CUDA (AUTO, ON, OFF; cmake/cuda.cmake) and CMAKE_CUDA_ARCHITECTURES.
if(NOT DEFINED CSREC_CUDA)
  set(CSREC_CUDA OFF)
  set(architectures "")
  find_program(CSREC_NVIDIA_SMI nvidia-smi)
  if(CSREC_NVIDIA_SMI)
    execute_process(COMMAND ${CSREC_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
                    OUTPUT_VARIABLE capabilities ERROR_QUIET RESULT_VARIABLE failed TIMEOUT 60)
  endif()
  if(CSREC_NVIDIA_SMI AND failed STREQUAL "0")
    string(REGEX MATCHALL "[0-9]+\\.[0-9]+" capabilities "${capabilities}")
    foreach(capability IN LISTS capabilities)
      string(REPLACE "." "" capability "${capability}")
      if(capability GREATER_EQUAL 100) # the toolkit may not know it: PTX serves
        set(CSREC_CUDA AUTO)
        list(APPEND architectures 90)
      elseif(capability GREATER_EQUAL 80)
        set(CSREC_CUDA AUTO)
        list(APPEND architectures ${capability}-real)
      endif()
    endforeach()
  endif()
  list(REMOVE_DUPLICATES architectures)
  if(architectures AND NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES ${architectures})
  endif()
endif()
message(STATUS "CUDA of the wheel: ${CSREC_CUDA} ${CMAKE_CUDA_ARCHITECTURES}")

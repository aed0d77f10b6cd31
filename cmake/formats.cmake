# Formats of files that a user may do without. A row each: src/io/FOLDER is built where the library
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
    pkg_check_modules(${name} QUIET IMPORTED_TARGET ${module}>=${version})
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

csrec_file_format(TIFF tiff libtiff-4 4.5 libtiff-dev) # whose messages go to a handler a file
csrec_file_format(FITS fits cfitsio 4.2 libcfitsio-dev) # with its patches against forged files
csrec_file_format(EXR exr OpenEXR 3.1 libopenexr-dev)
csrec_file_format(HDF5 hdf5 hdf5 1.10.7 libhdf5-dev) # which opens files without locks
csrec_stop_if_missing()

# OpenEXR.pc names the C++ libraries, too; the C library is enough.
if(EXR_FOUND)
  get_target_property(libraries PkgConfig::EXR INTERFACE_LINK_LIBRARIES)
  list(FILTER libraries INCLUDE REGEX "OpenEXRCore")
  if(libraries)
    set_target_properties(PkgConfig::EXR PROPERTIES INTERFACE_LINK_LIBRARIES "${libraries}")
  endif()
endif()

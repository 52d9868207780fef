# muster_embed_page(TARGET FOLDER): puts the files of the page into the target, as the functions of
# agent/edge/door/page_files.h give them. CMake itself is the tool: this file, run as a script,
# writes the source.
#
# Called in the directory of the target, behind muster_room():
#   include(${CMAKE_SOURCE_DIR}/cmake/embed.cmake)
#   muster_embed_page(muster_agent_edge_door ${CMAKE_CURRENT_SOURCE_DIR}/page)
if(NOT CMAKE_SCRIPT_MODE_FILE)
  function(muster_embed_page target folder)
    file(GLOB files CONFIGURE_DEPENDS ${folder}/*.html ${folder}/*.css ${folder}/*.js)
    set(made ${CMAKE_CURRENT_BINARY_DIR}/page_files.cc)
    set(script ${CMAKE_SOURCE_DIR}/cmake/embed.cmake)
    add_custom_command(OUTPUT ${made}
                       COMMAND ${CMAKE_COMMAND} -D "FOLDER=${folder}" -D "MADE=${made}" -P ${script}
                       DEPENDS ${files} ${script}
                       COMMENT "Embed the page" VERBATIM)
    target_sources(${target} PRIVATE ${made})
    # Its names are not chosen to stand beside those of other sources.
    set_source_files_properties(${made} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endfunction()
  return()
endif()

cmake_minimum_required(VERSION 3.25)

# The page is small: it is sent on slow lines, and each node keeps it in memory.
set(bytes_max 200000)

set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")

file(GLOB files "${FOLDER}/*.html" "${FOLDER}/*.css" "${FOLDER}/*.js")
list(SORT files)
set(arrays "")
set(rows "")
set(number 0)
set(bytes_all 0)
foreach(file IN LISTS files)
  cmake_path(GET file FILENAME name)
  cmake_path(GET file EXTENSION LAST_ONLY extension)
  string(SUBSTRING "${extension}" 1 -1 extension)
  set(path "/${name}")
  if(name STREQUAL "index.html")
    set(path "/")
  endif()

  file(SIZE "${file}" size)
  if(size EQUAL 0)
    message(FATAL_ERROR "${file} is empty: write it, or remove it")
  endif()
  math(EXPR bytes_all "${bytes_all} + ${size}")
  file(SHA256 "${file}" hash)
  string(SUBSTRING "${hash}" 0 32 hash)

  file(READ "${file}" hex HEX)
  # Twelve bytes a line.
  string(REGEX REPLACE "(........................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")

  string(APPEND arrays "constexpr char kBytes${number}[] = {\n${bytes}\n};\n")
  string(APPEND rows "    {\"${path}\", \"${type_${extension}}\", \"\\\"${size}-${hash}\\\"\",\n"
                     "     {kBytes${number}, sizeof(kBytes${number})}},\n")
  math(EXPR number "${number} + 1")
endforeach()

if(number EQUAL 0)
  message(FATAL_ERROR "${FOLDER} has no files of the page")
endif()
if(bytes_all GREATER bytes_max)
  message(FATAL_ERROR "the page has ${bytes_all} bytes of at most ${bytes_max}: make it smaller")
endif()

file(WRITE "${MADE}"
     "// Made by cmake/embed.cmake.\n"
     "#include \"agent/edge/door/page_files.h\"\n\n"
     "namespace muster::agent {\n"
     "namespace {\n\n"
     "${arrays}\n"
     "constexpr PageFile kFiles[] = {\n"
     "${rows}"
     "};\n\n"
     "}  // namespace\n\n"
     "const PageFile* page_file(std::string_view path) {\n"
     "  for (const PageFile& file : kFiles) {\n"
     "    if (file.path == path) {\n"
     "      return &file;\n"
     "    }\n"
     "  }\n"
     "  return nullptr;\n"
     "}\n\n"
     "}  // namespace muster::agent\n")

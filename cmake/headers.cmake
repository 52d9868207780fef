# A header with a source of its own is compiled alone as that source's first include, if the release
# build has that source. Every other one is compiled by this target, each in a source made of that one
# line: those of tests that only the sanitised build has, too, because it makes lumps of sources.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
     gossip/*.h crdt/*.h membership/*.h scheduler/*.h agent/*.h cli/*.h tests/*.h bench/*.h)
set(lone_headers)
foreach(header ${headers})
  string(REGEX REPLACE "\\.h$" ".cc" source ${header})
  set(is_only_in_lumps FALSE)
  if(header MATCHES "^tests/" AND NOT header MATCHES "^tests/(fuzz|sim|scheduler/raft)/")
    set(is_only_in_lumps TRUE)
  endif()
  if(is_only_in_lumps OR NOT EXISTS ${CMAKE_SOURCE_DIR}/${source})
    set(lone ${CMAKE_BINARY_DIR}/lone_headers/${source})
    file(CONFIGURE OUTPUT ${lone} CONTENT "#include \"${header}\"\n" @ONLY)
    list(APPEND lone_headers ${lone})
  endif()
endforeach()
add_library(muster_lone_headers OBJECT ${lone_headers})
target_link_libraries(muster_lone_headers PRIVATE muster_flags)
# They are compiled to see whether they can be, and linked into nothing.
target_compile_options(muster_lone_headers PRIVATE -O0 -g0)

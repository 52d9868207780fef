# How targets are made in this house: one a room. A pure one links std, base, msgpack and xxhash
# only; one with `edge` in its path may link anything.

add_library(muster_flags INTERFACE)
target_include_directories(muster_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(muster_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                              -Wswitch-enum -Werror
                                              # g++ 12 sees ghosts in moved variants.
                                              -Wno-maybe-uninitialized)
if(MUSTER_SANITIZE)
  target_compile_options(muster_flags INTERFACE -O1 -g1 -fno-omit-frame-pointer
                                                -fsanitize=address,undefined
                                                -fno-sanitize-recover=all)
  target_link_options(muster_flags INTERFACE -fsanitize=address,undefined)
else()
  target_compile_options(muster_flags INTERFACE -O2 -DNDEBUG -g1)
endif()

if(MUSTER_UNITY)
  # Not a header's: a lump is one source.
  target_compile_options(muster_flags INTERFACE -Wno-subobject-linkage)
endif()
set(CMAKE_UNITY_BUILD ${MUSTER_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)

# muster_lumps(NAME): compiled in lumps in each build. For a target of which each source includes most
# of the storeys below it, which takes longer than all that the source says itself. Sources that know
# planted bugs are in a lump of their own, or muster_planted() would define what is in the other lumps
# twice.
function(muster_lumps name)
  get_target_property(sources ${name} SOURCES)
  set(planted)
  foreach(source ${sources})
    file(STRINGS ${source} hits REGEX "^#include \".*/mutants?\\.h\"")
    if(hits)
      list(APPEND planted ${source})
    endif()
  endforeach()
  if(planted)
    list(REMOVE_ITEM sources ${planted})
    set_source_files_properties(${planted} PROPERTIES UNITY_GROUP planted)
    set_source_files_properties(${sources} PROPERTIES UNITY_GROUP sound)
    set_target_properties(${name} PROPERTIES UNITY_BUILD_MODE GROUP)
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON)
  target_compile_options(${name} PRIVATE -Wno-subobject-linkage)
endfunction()

# In a test's own code a null pointer ends at the address sanitiser as well; these two checks cost a
# quarter of its compilation. Named behind muster_flags, or that would turn them on again.
add_library(muster_test_flags INTERFACE)
if(MUSTER_SANITIZE)
  target_compile_options(muster_test_flags INTERFACE -fno-sanitize=null,alignment)
endif()

# Behind muster_flags on the command line, or -O1 would count.
add_library(muster_unoptimised_flags INTERFACE)
target_compile_options(muster_unoptimised_flags INTERFACE -O0)

# muster_room(sources... [LINK libs...]): the one target of a room, named by its path: what stands in
# scheduler/raft is muster_scheduler_raft.
macro(muster_room)
  file(RELATIVE_PATH room ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REPLACE "/" "_" room ${room})
  muster_library(muster_${room} ${ARGN})
  # They wait for people and for the kernel: optimised, their sanitised build takes 40 % longer, and
  # no test of theirs is faster for it.
  if(MUSTER_SANITIZE AND room MATCHES "^(cli|agent_edge)")
    target_link_libraries(muster_${room} PRIVATE muster_unoptimised_flags)
  endif()
endmacro()

# muster_library(NAME sources... [LINK libs...])
function(muster_library name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC muster_flags ${ARG_LINK})
endfunction()

# muster_quiet_time(SECONDS NAME...): how long the tests take with nothing beside them. Their limit is
# there to end a hang, not to judge speed: ten times that, at least 120 s, at most 900.
function(muster_quiet_time seconds)
  math(EXPR limit "10 * ${seconds}")
  if(limit LESS 120)
    set(limit 120)
  elseif(limit GREATER 900)
    set(limit 900)
  endif()
  set_tests_properties(${ARGN} PROPERTIES TIMEOUT ${limit})
endfunction()

# muster_planted(NAME LIBRARIES...): the sources of these libraries that know planted bugs, once more,
# with the bugs compiled in. Objects, so that whoever links them takes none of the sound ones from
# their archives.
function(muster_planted name)
  set(planted)
  foreach(library ${ARGN})
    get_target_property(folder ${library} SOURCE_DIR)
    get_target_property(sources ${library} SOURCES)
    foreach(source ${sources})
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${source})
      file(STRINGS ${folder}/${source} hits REGEX "^#include \".*/mutants?\\.h\"")
      if(hits)
        list(APPEND planted ${folder}/${source})
      endif()
    endforeach()
  endforeach()
  add_library(${name} OBJECT ${planted})
  target_link_libraries(${name} PRIVATE muster_flags)
  # A lump a room: each source was compiled by itself in its own room.
  foreach(source ${planted})
    get_filename_component(folder ${source} DIRECTORY)
    string(MAKE_C_IDENTIFIER ${folder} group)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  target_compile_options(${name} PRIVATE -Wno-subobject-linkage)
  target_compile_definitions(${name} PUBLIC MUSTER_MUTANTS)
endfunction()

# muster_test(NAME sources... [OPTIMISED] [LINK libs...]): a GoogleTest binary, one ctest entry a
# binary. Its own code is compiled without optimisation, which takes a third less time, unless it is
# OPTIMISED: a test that runs for long.
function(muster_test name)
  cmake_parse_arguments(ARG "OPTIMISED" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE muster_flags muster_test_flags ${ARG_LINK}
                                        GTest::gtest_main)
  if(MUSTER_SANITIZE AND NOT ARG_OPTIMISED)
    target_link_libraries(${name} PRIVATE muster_unoptimised_flags)
  endif()
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  muster_quiet_time(1 ${name})
endfunction()

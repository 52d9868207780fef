# What a package of Muster holds: the program, its manual pages, what shells complete, and rules for
# a packet filter. Pages and completions are printed by the program itself, so they are those of this
# build.
include(GNUInstallDirs)
install(TARGETS muster RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES cmake/muster.nft DESTINATION ${CMAKE_INSTALL_DATADIR}/muster)
install(CODE "
  set(muster \"\$<TARGET_FILE:muster>\")
  set(made \"${CMAKE_CURRENT_BINARY_DIR}/install\")
  function(install_printed name folder)
    if(NOT IS_ABSOLUTE \"\${folder}\")
      set(folder \"\${CMAKE_INSTALL_PREFIX}/\${folder}\")
    endif()
    file(MAKE_DIRECTORY \"\${made}/\${folder}\")
    execute_process(COMMAND \"\${muster}\" \${ARGN} OUTPUT_FILE \"\${made}/\${folder}/\${name}\"
                    COMMAND_ERROR_IS_FATAL ANY)
    file(INSTALL \"\${made}/\${folder}/\${name}\" DESTINATION \"\${folder}\" TYPE FILE)
  endfunction()
  execute_process(COMMAND \"\${muster}\" man --list OUTPUT_VARIABLE pages COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL \"[^\\n]+\" pages \"\${pages}\")
  foreach(page IN LISTS pages)
    install_printed(\${page}.1 \"${CMAKE_INSTALL_MANDIR}/man1\" man \${page})
  endforeach()
  install_printed(muster.toml.sample \"${CMAKE_INSTALL_DATADIR}/muster\" man --sample)
  install_printed(muster \"${CMAKE_INSTALL_DATADIR}/bash-completion/completions\" completion bash)
  install_printed(muster.fish \"${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d\" completion fish)
")

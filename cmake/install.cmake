# What a package of Muster holds: the program, its manual pages and what shells complete. Pages and
# completions are printed by the program itself, so they are those of this build.
include(GNUInstallDirs)
install(TARGETS muster RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(CODE "
  set(muster \"\$<TARGET_FILE:muster>\")
  set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  function(print_into file)
    get_filename_component(folder \"\${file}\" DIRECTORY)
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND \${ARGN} OUTPUT_FILE \"\${file}\" COMMAND_ERROR_IS_FATAL ANY)
    message(STATUS \"Installing: \${file}\")
  endfunction()
  execute_process(COMMAND \"\${muster}\" man --list OUTPUT_VARIABLE pages COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL \"[^\\n]+\" pages \"\${pages}\")
  foreach(page IN LISTS pages)
    print_into(\"\${prefix}/${CMAKE_INSTALL_MANDIR}/man1/\${page}.1\" \"\${muster}\" man \${page})
  endforeach()
  print_into(\"\${prefix}/${CMAKE_INSTALL_DATADIR}/bash-completion/completions/muster\"
             \"\${muster}\" completion bash)
  print_into(\"\${prefix}/${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/muster.fish\"
             \"\${muster}\" completion fish)
")

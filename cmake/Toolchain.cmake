# Warnings, sanitizers, ccache and the faster linker: everything about how sources are compiled.
# Off: g++ 12's false positives on inlined standard containers (GCC bugs 105329, 105562), and the warning that
# would make every record of plain functions name the members it leaves at their defaults.
set(CENTAVO_WARNINGS -Wall -Wextra -Wshadow -Werror -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND CENTAVO_WARNINGS -Wno-restrict -Wno-maybe-uninitialized)
endif()

find_program(CENTAVO_CCACHE ccache)
if(CENTAVO_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CENTAVO_CCACHE})
endif()
find_program(CENTAVO_MOLD mold)
if(CENTAVO_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Sources name themselves relative to the checkout, so that messages and caches do not depend on its place.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)

if(CENTAVO_SANITIZE)
  # Instrumented code defeats the compiler's flow analysis; its warnings are not errors then.
  list(REMOVE_ITEM CENTAVO_WARNINGS -Werror)
  add_compile_options(-fsanitize=${CENTAVO_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${CENTAVO_SANITIZE})
  if(CENTAVO_SANITIZE STREQUAL "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()

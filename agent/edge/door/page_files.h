#pragma once
// The files of the page that every node serves, as cmake/embed.cmake puts them into the program.
// They ask for nothing from elsewhere, and no file has code in its markup.

#include <string_view>

namespace muster::agent {

/// Its parts live as long as the program.
struct PageFile {
  std::string_view path;          ///< As it is asked for: "/" for the document, "/app.js".
  std::string_view content_type;  ///< "text/html; charset=utf-8"
  /// A strong entity tag, quotes included: the size and the first half of the SHA-256.
  std::string_view etag;
  std::string_view bytes;
};

/// `path` is percent-decoded and has no query. nullptr if no file of the page has it.
const PageFile* page_file(std::string_view path);

/// The Content-Security-Policy of each file: all that the page needs, and no more.
inline constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'";

}  // namespace muster::agent

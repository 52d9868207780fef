#include "tests/repository/source_text.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>

namespace muster::repository {
std::size_t end_of_quoted(const std::string& text, std::size_t i) {
  const auto past = [&](std::string_view end, std::size_t from) {
    const std::size_t found = text.find(end, from);
    return found == std::string::npos ? text.size() : found + end.size();
  };
  if (text.compare(i, 2, "//") == 0) {
    const std::size_t end = text.find('\n', i);
    return end == std::string::npos ? text.size() : end;
  }
  if (text.compare(i, 2, "/*") == 0) {
    return past("*/", i + 2);
  }
  if (text.compare(i, 2, "R\"") == 0) {
    const std::size_t open = text.find('(', i);
    return open == std::string::npos ? text.size()
                                     : past(")" + text.substr(i + 2, open - i - 2) + "\"", open);
  }
  const bool digit_separator = i > 0 && std::isxdigit(static_cast<unsigned char>(text[i - 1])) != 0;
  if (text[i] != '"' && (text[i] != '\'' || digit_separator)) {
    return i;
  }
  std::size_t end = i + 1;
  while (end < text.size() && text[end] != text[i] && text[end] != '\n') {
    end += text[end] == '\\' ? 2 : 1;
  }
  return std::min(end + 1, text.size());
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::string at(const SourceFile& file, std::size_t index, const std::string& what) {
  return file.path + ":" + std::to_string(index + 1) + ": " + what;
}

std::vector<Include> includes_of(const SourceFile& file) {
  std::vector<Include> includes;
  const std::vector<std::string> lines = lines_of(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t open = lines[i].find_first_of("<\"");
    if (!lines[i].starts_with("#include") || open == std::string::npos) {
      continue;
    }
    const std::size_t close = lines[i].find_first_of(">\"", open + 1);
    includes.push_back({i, lines[i].substr(open + 1, close - open - 1), lines[i][open] == '"'});
  }
  return includes;
}

std::string code_of(const std::string& text) {
  std::string code = text;
  for (std::size_t i = 0; i < code.size();) {
    const std::size_t end = end_of_quoted(text, i);
    for (std::size_t j = i; j < end; ++j) {
      code[j] = text[j] == '\n' ? '\n' : ' ';
    }
    i = end == i ? i + 1 : end;
  }
  return code;
}

}  // namespace muster::repository

#include "tests/repository/header_rules.h"

#include <algorithm>
#include <string_view>

namespace muster::repository {
namespace {

/// Sources that hold a part of a class whose header stands elsewhere, with that header, which each
/// includes first. A class is split before another is added here.
struct Slice {
  std::string_view source;
  std::string_view header;
};
constexpr Slice kSlices[] = {
    {"agent/api/rest/follow_book_news.cc", "agent/api/rest/follow_book.h"},
    {"scheduler/raft/raft_comparison.cc", "scheduler/raft/raft.h"},
    {"scheduler/raft/raft_election.cc", "scheduler/raft/raft.h"},
    {"scheduler/raft/raft_replication.cc", "scheduler/raft/raft.h"},
    {"scheduler/raft/raft_states.cc", "scheduler/raft/raft.h"},
};

/// A program, or a verb, which the table of verbs names.
bool stands_without_header(std::string_view path) {
  return path.ends_with("/main.cc") || path.starts_with("cli/verbs/");
}

std::string first_include(const std::string& text) {
  constexpr std::string_view kInclude = "#include ";
  std::size_t line = text.starts_with(kInclude) ? 0 : text.find("\n" + std::string(kInclude));
  if (line == std::string::npos) {
    return "";
  }
  line += text[line] == '\n' ? 1U : 0U;
  const std::size_t open = line + kInclude.size() + 1;
  return text.substr(open, text.find_first_of(">\"", open) - open);
}

std::string header_of(const std::string& source) {
  return source.substr(0, source.size() - 3) + ".h";
}

}  // namespace

Violations check_own_header(const SourceFile& file, const std::set<std::string>& paths) {
  if (!file.path.ends_with(".cc")) {
    return {};
  }
  const auto* const slice =
      std::find_if(std::begin(kSlices), std::end(kSlices),
                   [&](const Slice& each) { return each.source == file.path; });
  const bool is_slice = slice != std::end(kSlices);
  const std::string own = is_slice ? std::string(slice->header) : header_of(file.path);
  if (paths.contains(own)) {
    const std::string first = first_include(file.text);
    return first == own ? Violations{}
                        : Violations{file.path + ": includes " + first + " before " + own};
  }
  const bool is_product = !file.path.starts_with("tests/") && !file.path.starts_with("bench/");
  if (is_product && !stands_without_header(file.path)) {
    return {file.path + ": has no header of its own"};
  }
  return {};
}

Violations check_slices(const std::set<std::string>& paths) {
  Violations found;
  for (const Slice& slice : kSlices) {
    const std::string source(slice.source);
    if (!paths.contains(source) || paths.contains(header_of(source))) {
      found.push_back(source + ": is named as a slice and is none");
    }
  }
  return found;
}

}  // namespace muster::repository

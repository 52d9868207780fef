#include "cli/edge/audit_reader.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "agent/edge/disk/host_key.h"

namespace muster::cli {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

/// Gives the whole lines of `text` to `check` and leaves what is behind them. False behind a wrong
/// one.
bool take_lines(std::string& text, agent::AuditCheck& check) {
  std::size_t begin = 0;
  for (std::size_t feed = text.find('\n'); feed != std::string::npos;
       feed = text.find('\n', begin)) {
    if (!check.take(std::string_view(text).substr(begin, feed - begin))) {
      return false;
    }
    begin = feed + 1;
  }
  text.erase(0, begin);
  // A longer line is no line of such a file.
  return text.size() <= agent::kChainLineBytesMax || check.take(text);
}

}  // namespace

Result<agent::AuditFileReport> check_audit_file(const std::string& path,
                                                const std::optional<agent::ChainEnd>& noted) {
  const auto unreadable = [&path] {
    const ErrorCode code = errno == ENOENT   ? ErrorCode::kNotFound
                           : errno == EACCES ? ErrorCode::kDenied
                                             : ErrorCode::kIo;
    return Error{code, path + " cannot be read: " + std::strerror(errno)};
  };
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return unreadable();
  }
  const agent::HostKeyVerifier verifier;
  agent::AuditCheck check(verifier, path, noted);
  std::string text;
  std::string piece(kPieceBytes, '\0');
  bool goes_on = true;
  while (goes_on && file) {
    errno = 0;
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    if (file.bad() || (file.gcount() == 0 && errno != 0)) {
      return unreadable();
    }
    text.append(piece, 0, static_cast<std::size_t>(file.gcount()));
    goes_on = take_lines(text, check);
  }
  return check.finish(!text.empty());
}

}  // namespace muster::cli

#include "agent/edge/own_path.h"

#include <sys/stat.h>

#include <filesystem>

#include "gossip/edge/file_owner.h"

namespace muster::agent {
namespace {

Error of_another(const std::string& path, const struct stat& facts) {
  return {ErrorCode::kDenied, path + " belongs to another user of this machine, uid " +
                                  std::to_string(facts.st_uid) +
                                  ", who could replace it: chown it, or choose another path"};
}

}  // namespace

Status check_own_path(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  const auto real = std::filesystem::weakly_canonical(absolute, error);
  if (error) {
    return ok();  // It cannot be opened either, and then says why.
  }
  std::filesystem::path part;
  for (const auto& name : real) {
    part /= name;
    struct stat facts {};
    if (lstat(part.c_str(), &facts) != 0) {
      return ok();
    }
    if (!gossip::is_of_us(facts)) {
      return of_another(part.string(), facts);
    }
    const bool is_open =
        S_ISDIR(facts.st_mode) && (facts.st_mode & S_IWOTH) != 0 && (facts.st_mode & S_ISVTX) == 0;
    if (is_open && part != real) {
      return Error{ErrorCode::kDenied,
                   part.string() +
                       " is writable by every user of this machine, who could replace " + path +
                       ": chmod o-w " + part.string()};
    }
  }
  return ok();
}

Status check_own_file(const std::string& path) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) == 0 && !gossip::is_of_us(facts)) {
    return of_another(path, facts);
  }
  return check_own_path(path);
}

}  // namespace muster::agent

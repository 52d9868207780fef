#include "agent/edge/run/epilog_notes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>

#include "agent/edge/grant/supervise_protocol.h"
#include "agent/edge/supervisor/token_name.h"
#include "gossip/wire/wire.h"

namespace muster::agent {
namespace {

constexpr std::uint64_t kNoteVersion = 1;
constexpr std::size_t kNoteGpusMax = 256;
constexpr std::size_t kNoteTextBytesMax = 256;

/// [version, job, user, [uuid, ...]]
std::string encode(const GrantNote& note) {
  gossip::Encoder to;
  to.array(4).u64(kNoteVersion).num(note.job).text(note.user).array(note.gpus.size());
  for (const std::string& uuid : note.gpus) {
    to.text(uuid);
  }
  return to.take();
}

std::optional<GrantNote> decode(const std::string& bytes) {
  const Result<gossip::Document> document = gossip::Document::parse(bytes);
  if (!document) {
    return std::nullopt;
  }
  gossip::Reader from = document->root();
  const bool is_known = from.u64() == kNoteVersion;
  GrantNote note;
  note.job = from.num<JobId>();
  note.user = from.text(kNoteTextBytesMax);
  gossip::Reader gpus = from.array_at_most(kNoteGpusMax);
  while (gpus.ok() && gpus.left() > 0) {
    note.gpus.push_back(gpus.text(kNoteTextBytesMax));
  }
  return is_known && from.ok() ? std::optional(std::move(note)) : std::nullopt;
}

}  // namespace

std::string EpilogNotes::path_of(Token token) const {
  return directory_ + "/" + token.text();
}

Status EpilogNotes::write(Token token, const GrantNote& note) const {
  if (mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error{ErrorCode::kIo, directory_ + ": " + errno_text(errno)};
  }
  const std::string bytes = encode(note);
  const std::string path = path_of(token);
  const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  const bool is_written = file.is_open() && ::write(file.get(), bytes.data(), bytes.size()) ==
                                                static_cast<ssize_t>(bytes.size());
  return is_written ? ok() : Status(Error{ErrorCode::kIo, path + ": " + errno_text(errno)});
}

void EpilogNotes::remove(Token token) const {
  unlink(path_of(token).c_str());
}

std::map<Token, GrantNote> EpilogNotes::read_all() const {
  std::map<Token, GrantNote> notes;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory_, error);
  for (; !error && entry != std::filesystem::directory_iterator() && notes.size() < kNotesMax;
       entry.increment(error)) {
    const std::string path = entry->path().string();
    const std::optional<Token> token = token_named(entry->path().filename().string());
    const std::optional<std::string> bytes = token ? read_file(path) : std::nullopt;
    std::optional<GrantNote> note = bytes ? decode(*bytes) : std::nullopt;
    if (note.has_value()) {
      notes.emplace(*token, *std::move(note));
    } else {
      unlink(path.c_str());
    }
  }
  return notes;
}

}  // namespace muster::agent

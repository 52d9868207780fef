#pragma once
// AuditFile is the file that a voter writes the audit to, in the form of audit_file_line.h: mode
// 0600, only ever appended to, synced once a batch. It goes on where the file ended. A file that an
// agent of another cluster or another process wrote is set aside, never written over. All calls
// block. Owned by AuditThread.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/api/json/audit_file_line.h"
#include "gossip/base/event.h"
#include "gossip/base/result.h"
#include "gossip/base/signing.h"

namespace muster::agent {

class AuditFile {
 public:
  /// Bytes that one sync makes durable, but for the last line of a batch.
  static constexpr std::size_t kBatchBytesMax = std::size_t{256} << 10;
  /// The end of a file that is looked at when it is opened: more than a batch, of which the
  /// machine may have crashed before its sync.
  static constexpr std::size_t kTailBytes = std::size_t{1} << 20;
  /// Files set aside beside one path: PATH.1, PATH.2, ...
  static constexpr int kAsideMax = 100;

  struct Options {
    std::string path;
    ClusterId cluster;
    std::shared_ptr<const gossip::Verifier> verifier;  ///< For its hash.
  };

  /// Opens the file, or makes it. A line that was written in part is cut off. kConflict: another
  /// agent writes to it. kInvalid: it is no audit file. kDenied: it, or a directory on the way,
  /// belongs to another user.
  static Result<std::unique_ptr<AuditFile>> open(Options options);
  ~AuditFile();
  AuditFile(const AuditFile&) = delete;
  AuditFile& operator=(const AuditFile&) = delete;

  const ChainEnd& end() const { return end_; }
  /// True if the last line of the file has the number of this line and is another one: the log was
  /// set back, as by `muster quorum recover`.
  bool contradicts(const AuditInfo& line) const;
  /// False if the path names another file by now, or somebody else wrote to it or cut it: open it
  /// again.
  bool is_as_left() const;
  /// The lines are on the disk when it returns. They are above end() and rise; where a number is
  /// missing a line says so. After an error nothing is known of the end of the file: open it again.
  Status append(std::span<const AuditInfo> lines);
  /// Renames the file, so that the next open() makes a new one. The caller drops this object then.
  Status set_aside(const std::string& why);
  /// Since the last call: of a mended end, and of files set aside.
  std::vector<Event> take_events() { return std::exchange(events_, {}); }

 private:
  explicit AuditFile(Options options) : options_(std::move(options)) {}
  Status open_path();
  Status make_ready();
  Status read_end();
  Status cut(std::uint64_t size_bytes);
  Status write(std::string_view text);

  Options options_;
  int fd_ = -1;
  std::uint64_t size_bytes_ = 0;
  ChainEnd end_ = chain_begin();
  AuditFileLine last_{};  ///< The facts of the last line.
  bool is_damaged_ = false;
  std::vector<Event> events_;
};

}  // namespace muster::agent

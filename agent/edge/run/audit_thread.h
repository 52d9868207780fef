#pragma once
// AuditThread writes the audit of the cluster to a file of this host (AuditFile), beside the event
// loop. The loop feeds it lines of the log's state by number: the file itself says where it ends,
// so no line is written twice, and a line is lost only if the log drops it before the disk takes
// it. A file that cannot be written is an event once, and is tried again each kRetryTime. Owned by
// run_agent(), for the life of the process.
//
// All public calls belong to the event loop's thread. None but the destructor blocks, and that one
// for at most kEndPatience.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agent/api/audit.h"
#include "gossip/base/event.h"
#include "gossip/base/ids.h"
#include "gossip/base/signing.h"
#include "gossip/base/time.h"

namespace muster::agent {

class AuditThread {
 public:
  /// Lines that wait for the disk, about 1 MB. More stay in the state of the log.
  static constexpr std::size_t kLinesMax = 2'000;
  /// Between two tries after a failure.
  static constexpr Duration kRetryTime = std::chrono::seconds(5);
  /// The agent ends without the last lines if the disk does not answer for so long; its next start
  /// writes them.
  static constexpr Duration kEndPatience = std::chrono::seconds(2);

  struct Options {
    std::string path;
    std::shared_ptr<const gossip::Verifier> verifier;  ///< For its hash.
    Duration retry = kRetryTime;
  };
  struct Stats {
    std::uint64_t written = 0;   ///< Lines of the audit.
    std::uint64_t failures = 0;  ///< Tries that failed.
  };

  explicit AuditThread(Options options);
  ~AuditThread();
  AuditThread(const AuditThread&) = delete;
  AuditThread& operator=(const AuditThread&) = delete;

  /// The number behind which lines are wanted, at most kAuditPage of them; nullopt if the file is
  /// not open yet or kLinesMax lines wait. `last`: the newest line of the log, above 0. The first
  /// call opens the file.
  std::optional<std::uint64_t> wanted(const ClusterId& cluster, std::uint64_t last);
  /// The lines of the log behind `after`, in order; dropped if others are wanted by now.
  void submit(std::uint64_t after, std::vector<AuditInfo> lines);
  /// Readable when wanted() wants more, or there are events; take_events() makes it silent.
  int fd() const;
  std::vector<Event> take_events();
  Stats stats() const;

 private:
  struct Shared;
  static void work(const std::shared_ptr<Shared>& shared);

  /// A thread that hangs keeps it alive.
  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace muster::agent

#pragma once
// Checks the signatures of rows on a thread beside the event loop: one costs 74 us, and after a cut
// there are tens of thousands. The same news arrives from several neighbours at once, so good
// signatures are remembered for a while. Owned by EventLoop.
//
// submit() and take_checked() belong to the event loop's thread.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crdt/rows/row_check.h"
#include "gossip/base/signing.h"

namespace muster::agent {

/// Bytes of rows that wait, of all senders and of one. Rows above that are dropped: the next audit
/// brings them again. Senders have their turns one after the other, so that none delays the rest by
/// more than its share.
inline constexpr std::size_t kRowCheckBytesMax = std::size_t{32} << 20;
inline constexpr std::size_t kRowCheckSenderBytesMax = std::size_t{4} << 20;
/// Signatures that are remembered as good.
inline constexpr std::size_t kGoodSignaturesMax = 65'536;

class RowCheckThread {
 public:
  /// Since the start.
  struct Stats {
    std::uint64_t messages = 0;    ///< Messages that were checked.
    std::uint64_t checked = 0;     ///< Signatures that were looked at.
    std::uint64_t remembered = 0;  ///< Signatures that were known to be good.
  };

  RowCheckThread(gossip::Authority authority, std::unique_ptr<const gossip::Verifier> verifier);
  ~RowCheckThread();
  RowCheckThread(const RowCheckThread&) = delete;
  RowCheckThread& operator=(const RowCheckThread&) = delete;

  /// Never blocks. False: dropped, for too much waits.
  bool submit(crdt::RowsToCheck rows);
  /// Readable while take_checked() may have something.
  int fd() const;
  /// In the order of submit() of each sender, and makes fd() silent.
  std::vector<crdt::RowsChecked> take_checked();
  Stats stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::agent

#pragma once
// Where people find the agent's socket, which lies beside its data: DIRECTORY/NAME.sock, a link for
// each agent of this machine, and DIRECTORY/agent.sock, the link of the first one. A link whose
// agent is gone is taken over.
//
// The directory must be this user's and writable by nobody else: whoever may make links there says
// to which agent people talk.

#include <string>
#include <vector>

#include "gossip/base/result.h"

namespace muster::agent {

/// MUSTER_RUNTIME_DIR, else /run/muster for root, else $XDG_RUNTIME_DIR/muster; "" = there is none.
std::string runtime_directory();

class SocketLinks {
 public:
  SocketLinks() = default;
  SocketLinks(const SocketLinks&) = delete;
  SocketLinks& operator=(const SocketLinks&) = delete;
  /// Takes back those that still lead to this agent.
  ~SocketLinks();

  /// Once. Makes `directory` when it is missing. `socket` is an absolute path. kDenied: the
  /// directory is another's or open to others; kConflict: another agent that lives has the name.
  /// After an error some links may be there.
  Status make(const std::string& directory, const std::string& name, const std::string& socket);
  /// To be called now and then: links that are gone are made again, with their directory. One that
  /// another agent had, and that is gone with it, becomes this one's.
  void renew();
  /// The links made.
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  std::string directory_;
  std::string name_;
  std::string socket_;
  std::vector<std::string> paths_;
};

}  // namespace muster::agent

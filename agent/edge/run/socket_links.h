#pragma once
// The links by which people find the agent's socket, which lies beside its data: each agent of this
// machine has DIRECTORY/NAME.sock, and the first one has DIRECTORY/agent.sock. An agent takes over
// a link whose agent is gone. An agent of root has a socket for all logins (gossip/edge/
// login_listener.h) at DIRECTORY/NAME.sock in place of that link.
//
// The directory must belong to this user, and no other user may write to it: a user that can make
// links there decides to which agent people talk.

#include <string>
#include <vector>

#include "gossip/base/result.h"

namespace muster::agent {

/// Makes `directory` with mode 0755 if it is missing. kIo: it is not there. kDenied: it is another
/// user's, or others may write to it.
Status make_runtime_directory(const std::string& directory);

/// MUSTER_RUNTIME_DIR, else /run/muster for root, else $XDG_RUNTIME_DIR/muster; "" if unset.
std::string runtime_directory();

class SocketLinks {
 public:
  SocketLinks() = default;
  SocketLinks(const SocketLinks&) = delete;
  SocketLinks& operator=(const SocketLinks&) = delete;
  /// Takes back those that still lead to this agent.
  ~SocketLinks();

  /// Once. Makes `directory` when it is missing. `socket` is an absolute path; no link is made at
  /// the path of the socket itself. kDenied: the directory is another's or open to others;
  /// kConflict: another agent that lives has the name. After an error some links may be there.
  Status make(const std::string& directory, const std::string& name, const std::string& socket);
  /// To be called now and then: makes links that are gone again, with their directory. Takes over a
  /// link that another agent had if that agent is gone.
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

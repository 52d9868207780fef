#pragma once
// AdminKey is the SSH key by which a person administers the cluster: one that the person names, or
// a new one in the home directory.

#include <string>

#include "cli/kit/options.h"
#include "cli/kit/session.h"
#include "gossip/base/result.h"
#include "gossip/ssh/ssh_key.h"

namespace muster::cli {

class AdminKey {
 public:
  /// Adds --ssh-key.
  void describe(Options& options);
  bool is_given() const { return !given_.empty(); }
  /// The public key; makes one if no key was named and there is no file, and tells where it is.
  /// `user`: the person of a new key. Errors as of WorldKeys, sentences for people.
  Result<gossip::SshKeyLine> take(Session& session, const std::string& user) const;

 private:
  std::string given_;
};

}  // namespace muster::cli

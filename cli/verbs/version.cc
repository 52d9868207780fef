// muster version: of this program and of the node it talks to, if one answers.

#include <algorithm>

#include "agent/api/hosts.h"
#include "agent/api/json/view.h"
#include "agent/api/payload.h"
#include "cli/kit/text.h"
#include "cli/verbs/verb.h"
#include "gossip/base/version.h"

namespace muster::cli {
namespace {

/// A node that answers at all does so at once; a missing one must not delay the answer.
constexpr Duration kPatience = std::chrono::seconds(2);

std::string node_line(const agent::VersionInfo& node) {
  const std::string cluster =
      node.cluster.is_zero() ? "no cluster yet" : "cluster " + node.cluster.short_hex();
  return printable("node " + node.host_name + " (" + node.host.short_hex() + "): muster " +
                   node.product + " (protocol " + std::to_string(node.protocol) + "), generation " +
                   std::to_string(node.generation.value()) + ", " + cluster) +
         "\n";
}

class Version final : public Verb {
 public:
  void describe(Options& options) override {
    common_.describe(options);
    options.example("muster version --json");
  }

  int run(Session& session) override {
    const Reply reply = session.exchange({}, std::min(kPatience, session.common().timeout));
    std::optional<agent::VersionInfo> node;
    if (reply.is_ok()) {
      node = agent::decode_payload<agent::VersionInfo>(reply.response.payload);
    }
    if (session.common().is_json) {
      session.out() << to_json(node) << "\n";
      return 0;
    }
    session.out() << "muster " << kProductVersion << " (protocol " << kProtocolVersion << ")\n";
    if (node.has_value()) {
      session.out() << node_line(*node);
    } else {
      session.note(reply.is_ok() ? kUnreadableAnswer : reply.text);
    }
    return 0;
  }
};

}  // namespace

std::unique_ptr<Verb> make_version() {
  return std::make_unique<Version>();
}

}  // namespace muster::cli

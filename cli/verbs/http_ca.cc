// muster http ca: the root certificate that clients of HTTPS have to trust.

#include "agent/api/certify.h"
#include "agent/api/json/http_root.h"
#include "cli/kit/text.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

class HttpCa final : public Verb {
 public:
  void describe(Options& options) override {
    common_.describe(options);
    options.example("muster http ca > muster-ca.pem");
  }

  int run(Session& session) override {
    const auto info = session.read<agent::HttpRootInfo>(agent::Verb::kHttpRoot);
    if (!info.has_value()) {
      return session.failed();
    }
    if (session.common().is_json) {
      session.out() << to_json(*info, session.last()) << "\n";
      return 0;
    }
    session.out() << printable_lines(info->root);
    return 0;
  }
};

}  // namespace

std::unique_ptr<Verb> make_http_ca() {
  return std::make_unique<HttpCa>();
}

}  // namespace muster::cli

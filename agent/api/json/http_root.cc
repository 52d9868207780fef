#include "agent/api/json/http_root.h"

#include "agent/api/json/dump.h"

namespace muster::agent {

std::string to_json(const HttpRootInfo& info, const Response& answer) {
  return dump_answer({{"root", info.root}, {"fingerprint", info.fingerprint}}, answer);
}

}  // namespace muster::agent

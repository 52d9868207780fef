#include "agent/api/enrolment.h"

#include "gossip/wire/wire.h"

namespace muster::agent {

std::string join_words(const JoinArgs& join) {
  gossip::Encoder out;
  out.array(5).text("muster join 1").bytes(join.ticket).bytes(join.identity_key);
  out.bytes(join.link_key).text(join.name);
  return out.take();
}

}  // namespace muster::agent

#include "cli/kit/first_contact.h"

#include <algorithm>

#include "agent/api/hosts.h"
#include "agent/api/payload.h"
#include "agent/api/quorum.h"

namespace muster::cli {
namespace {

constexpr Duration kBetweenLooks = std::chrono::milliseconds(100);
/// A host is answered by its cluster within a second; a busy machine takes longer.
constexpr Duration kPatience = std::chrono::seconds(30);
/// An agent listens within a tenth of this.
constexpr Duration kStartsWithin = std::chrono::seconds(5);
/// A founder hears of the others from the first one within this.
constexpr Duration kOthersHeard = std::chrono::seconds(2);

/// The log knows that host: what is submitted for it is not impossible.
bool is_registered(Session& session, HostId host) {
  agent::Request question;
  question.verb = agent::Verb::kHostDetail;
  question.arguments = agent::encode_payload(agent::HostRef{host});
  return session.exchange(question).is_ok();
}

HostId own_id(Session& session) {
  agent::Request question;
  question.verb = agent::Verb::kVersion;
  const Reply reply = session.exchange(question);
  const auto node = agent::decode_payload<agent::VersionInfo>(reply.response.payload);
  const bool is_member = reply.is_ok() && node.has_value() && node->generation != Generation();
  return is_member ? node->host : HostId();
}

}  // namespace

Reply exchange_with_new_agent(Session& session, const agent::Request& request, Duration timeout) {
  const WorldClock& clock = session.world().clock;
  const Instant end = clock.now() + std::min(session.common().timeout, kStartsWithin);
  Reply reply = session.exchange(request, timeout);
  while (reply.status == agent::ResponseStatus::kNoQuorum && !reply.is_from_node &&
         clock.now() < end) {
    clock.sleep(kBetweenLooks);
    reply = session.exchange(request, timeout);
  }
  return reply;
}

void FirstContact::describe(Options& options) {
  options.flag("--no-wait", no_wait_, "Return at once, without waiting until the cluster answers");
}

FirstContact::Outcome FirstContact::wait(Session& session) const {
  const WorldClock& clock = session.world().clock;
  const Instant begin = clock.now();
  agent::Request question;
  question.verb = agent::Verb::kQuorum;
  bool is_told = false;
  while (clock.now() - begin < kPatience) {
    const Reply reply = session.exchange(question);
    const auto quorum = agent::decode_payload<agent::QuorumInfo>(reply.response.payload);
    if (reply.is_ok() && quorum.has_value()) {
      if (!quorum->leader_name.empty() && is_registered(session, own_id(session))) {
        return {};
      }
      const bool is_alone =
          quorum->leader_name.empty() && quorum->founders_met < quorum->founders_wanted;
      if (is_alone && clock.now() - begin >= kOthersHeard) {
        return {Is::kAlone, quorum->founders_wanted - quorum->founders_met};
      }
    }
    if (!is_told && clock.now() - begin >= std::chrono::seconds(2)) {
      session.progress("waiting until the cluster answers ...");
      is_told = true;
    }
    clock.sleep(kBetweenLooks);
  }
  return {Is::kLate, 0};
}

}  // namespace muster::cli

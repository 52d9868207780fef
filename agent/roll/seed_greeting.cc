#include "agent/roll/seed_greeting.h"

#include <string>

#include "crdt/rows/codec.h"

namespace muster::agent {

void SeedGreeting::greet(const gossip::Envelope& greeting, bool is_member,
                         const membership::Membership& membership,
                         const crdt::AddressBook& addresses, const crdt::HostStore& store,
                         const Roll& roll, Outbox& outbox) {
  const auto is_named = [&](const gossip::Endpoint& seed) {
    const auto host = addresses.at(seed);
    const membership::Member* member = host ? membership.member(*host) : nullptr;
    return member != nullptr && member->state == membership::MemberState::kAlive;
  };
  const auto is_met = [&](const gossip::Endpoint& seed) {
    return is_named(seed) && keys_.has_heard(seed);
  };
  const auto due = seeds_.due(outbox.now(), is_member, is_met);
  // Hosts that boot together do not all ask the first seed.
  const std::size_t asked = due.empty() ? 0 : (self_.prefix() + greetings_++) % due.size();
  for (std::size_t i = 0; i < due.size(); ++i) {
    const gossip::Endpoint& seed = due[i].seed;
    const bool is_first_word = !keys_.has_heard(seed) && !due[i].is_owed;
    std::string body = store.introduction(i == asked || !is_member);
    if (is_named(seed) && (!is_member || is_first_word)) {
      crdt::RowsBody question;  // The seed always answers this; its own row is the shortest answer.
      question.want = {*addresses.at(seed)};
      body = crdt::encode(question);
    }
    if (!is_met(seed)) {
      keys_.choose(seed, addresses.at(seed).value_or(HostId()), roll, outbox);
    }
    outbox.send_to(seed, gossip::Channel::kControl, gossip::encode(greeting, body));
  }
  if (seeds_.take_complaint(outbox.now())) {
    std::string seeds;
    for (const UnmetSeed& seed : seeds_.unmet()) {
      seeds += (seeds.empty() ? "" : ", ") + seed.endpoint.text() + " " +
               std::string(name_of(seed.silence));
    }
    outbox.emit(Severity::kWarn, "seeds_unmet",
                {{"seeds", seeds}, {"advice", "still trying: check that their agents run"}});
  }
}

}  // namespace muster::agent

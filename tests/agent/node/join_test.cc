// A newcomer, its ticket and a member: what each is told, and what a ticket cannot do.

#include <gtest/gtest.h>

#include "agent/api/enrolment.h"
#include "agent/api/hosts.h"
#include "agent/api/verbs.h"
#include "crdt/rows/link_cert.h"
#include "crdt/rows/proof.h"
#include "tests/agent/node/bare_node.h"

namespace muster::agent {
namespace {

using namespace testing;  // NOLINT: the fixture's words

const HostId kNewcomer = HostId::from_bytes("newcomer________");

JoinArgs join_of(HostId host, const std::string& ticket) {
  JoinArgs join;
  join.identity_key = std::string(host.bytes());
  join.link_key = "link of " + host.short_hex();
  join.link_key.resize(gossip::kLinkKeyBytes, '-');
  join.name = "new";
  join.ticket = ticket;
  join.signature = gossip::testing::StandInSigner(host).sign(join_words(join));
  return join;
}

class Join : public ::testing::Test {
 protected:
  Join() : bare(1) { bare.pass(std::chrono::seconds(5)); }

  std::optional<Response> say(const gossip::Sender& sender, Verb verb, std::string arguments) {
    gossip::Envelope asked;
    asked.version = kProtocolVersion;
    asked.type = gossip::MessageType::kRequest;
    asked.nonce = Nonce(++nonce_);
    asked.from = sender.host;
    bare.transport.clear();
    bare.feed(gossip::Received{kRoute,
                               gossip::Channel::kControl,
                               gossip::encode(asked, encode(request(verb, std::move(arguments)))),
                               {},
                               sender});
    for (const gossip::TransportOutput& each : bare.transport) {
      const auto* reply = std::get_if<gossip::Reply>(&each);
      if (reply != nullptr) {
        return decode_response(gossip::decode(reply->bytes)->body());
      }
    }
    return std::nullopt;
  }
  std::optional<Response> show(const JoinArgs& join, const std::string& ticket) {
    return say({gossip::Sender::Kind::kTicket, {}, ticket}, Verb::kJoin, encode_payload(join));
  }
  void make_ticket(const std::string& key, bool may_vote = false) {
    TicketArgs ticket{key, 1, 60'000, may_vote, false, ""};
    const auto made = bare.ask(request(Verb::kMakeTicket, encode_payload(ticket)));
    ASSERT_TRUE(made.has_value());
    ASSERT_EQ(made->status, ResponseStatus::kOk) << made->text;
    const auto info = decode_payload<TicketMade>(made->payload);
    ASSERT_TRUE(info.has_value());
    EXPECT_EQ(info->authority, crdt::testing::kAuthority.bytes());
    ASSERT_EQ(info->contacts.size(), 1U);
    EXPECT_EQ(info->contacts[0].address, kSelfControl.text());
  }
  bool is_let_in(const std::string& key, gossip::Sender::Kind as) {
    bool is_in = false;
    for (const gossip::Admit& each : admitted) {
      is_in = each.key == key ? each.who.kind == as : is_in;
    }
    return is_in;
  }
  void note_admitted() {
    for (const gossip::TransportOutput& each : bare.transport) {
      if (const auto* admit = std::get_if<gossip::Admit>(&each)) {
        admitted.push_back(*admit);
      }
    }
  }

  BareNode bare;
  std::vector<gossip::Admit> admitted;
  std::uint64_t nonce_ = 100;
};

TEST_F(Join, WithATicketAHostBecomesAMember) {
  ASSERT_TRUE(bare.node().seat().leads());
  make_ticket("t");
  note_admitted();
  EXPECT_TRUE(is_let_in("t", gossip::Sender::Kind::kTicket));
  const auto answer = show(join_of(kNewcomer, "t"), "t");
  note_admitted();
  ASSERT_TRUE(answer.has_value());
  ASSERT_EQ(answer->status, ResponseStatus::kOk) << answer->text;
  const auto info = decode_payload<JoinInfo>(answer->payload);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->cluster, bare.node().cluster());
  EXPECT_EQ(info->own.host, kNewcomer);
  const crdt::Field record{{Generation(info->own.authority), Sequence(info->own.edition)},
                           info->own.record,
                           info->own.signature};
  const gossip::testing::StandInVerifier keys;
  const auto proven = crdt::proven_roll(kNewcomer, record, crdt::testing::kAuthority.bytes(), keys);
  ASSERT_TRUE(proven.has_value());
  EXPECT_FALSE(proven->may_vote);
  EXPECT_EQ(info->authority_secret, "") << "who may not vote does not get it";
  EXPECT_TRUE(is_let_in(proven->link_key, gossip::Sender::Kind::kHost));
  EXPECT_NE(bare.node().store().field(kNewcomer, crdt::FieldId::kRoll), nullptr);
}

TEST_F(Join, WhoMayVoteIsGivenTheAuthority) {
  make_ticket("t", true);
  const auto answer = show(join_of(kNewcomer, "t"), "t");
  const auto info = decode_payload<JoinInfo>(answer->payload);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->authority_secret, crdt::testing::kAuthority.bytes());
}

/// The field of the contact's row that a newcomer is given; nullopt if it is given none.
std::optional<crdt::Field> link_given(const std::optional<Response>& answer) {
  const auto info = decode_payload<JoinInfo>(answer->payload);
  if (!info.has_value() || info->contacts.size() != 1) {
    return std::nullopt;
  }
  const auto row = crdt::decode_row(info->contacts[0].link_row);
  const crdt::Field* link = row.has_value() ? row->field(crdt::FieldId::kLink) : nullptr;
  return link == nullptr || row->fields.size() != 1 ? std::nullopt : std::optional(*link);
}

TEST_F(Join, ANewcomerIsGivenTheWordOfAContactThatChangedItsKey) {
  make_ticket("t");
  EXPECT_EQ(link_given(show(join_of(kNewcomer, "t"), "t")), std::nullopt) << "it has its first key";
  ASSERT_EQ(bare.ask(request(Verb::kRotateKeys, encode_payload(RotateArgs())))->status,
            ResponseStatus::kOk);
  bare.pass(std::chrono::seconds(10));
  ASSERT_EQ(bare.node().roll().link(kSelf).serial, 1U);
  const auto link = link_given(show(join_of(kNewcomer, "t"), "t"));
  ASSERT_TRUE(link.has_value());
  const auto id = static_cast<std::uint32_t>(crdt::FieldId::kLink);
  EXPECT_TRUE(crdt::is_proven(kSelf, id, *link, kSelf.bytes(), gossip::testing::StandInVerifier()));
  EXPECT_EQ(crdt::decode_link_cert(link->bytes), bare.node().roll().link(kSelf));

  make_ticket("u");
  const auto itself = show(join_of(kSelf, "u"), "u");
  ASSERT_EQ(itself->status, ResponseStatus::kOk) << itself->text;
  EXPECT_EQ(link_given(itself), std::nullopt) << "nobody is told what it said itself";
}

const HostId kChangedKey = HostId::from_bytes("changed key_____");

/// The peer changed its key twice; `signer` says so.
crdt::RowOf changed_row(HostId signer) {
  crdt::LinkCert cert{std::string(kPeer.bytes()), 2, std::string(kChangedKey.bytes()), "", 2};
  cert.key_proof = crdt::proof_of(kPeer, cert.key, gossip::testing::StandInSigner(kChangedKey));
  crdt::RowOf row{kPeer, {}};
  row.row.fields[static_cast<std::uint32_t>(crdt::FieldId::kLink)] = {{Generation(3), Sequence(7)},
                                                                      crdt::encode(cert)};
  return crdt::testing::signed_row(std::move(row), signer);
}

/// The host that the transport of this node lets in by the changed key, or nobody.
gossip::Sender let_in_by_changed_key(const BareNode& bare) {
  gossip::Sender who;
  for (const gossip::TransportOutput& each : bare.transport) {
    const auto* admit = std::get_if<gossip::Admit>(&each);
    who = admit != nullptr && admit->key == kChangedKey.bytes() ? admit->who : who;
  }
  return who;
}

TEST(RowsOfTheJoin, AContactIsLetInByTheKeyThatItChangedTo) {
  const BareNode bare(std::vector<crdt::RowOf>{changed_row(kPeer)});
  EXPECT_EQ(let_in_by_changed_key(bare).kind, gossip::Sender::Kind::kHost);
  EXPECT_EQ(let_in_by_changed_key(bare).host, kPeer);
  EXPECT_EQ(bare.count("row_forged"), 0U);
}

TEST(RowsOfTheJoin, ForgedOnesLetNobodyIn) {
  BareNode bare({changed_row(kNewcomer), changed_row(kSelf)});
  EXPECT_EQ(let_in_by_changed_key(bare).kind, gossip::Sender::Kind::kNobody);
  EXPECT_EQ(bare.count("row_forged"), 1U);
  EXPECT_EQ(bare.node().roll().link(kPeer).key, kPeer.bytes());
}

TEST_F(Join, WhoIsRevokedIsShutOutAndDoesNotComeBack) {
  make_ticket("t");
  ASSERT_EQ(show(join_of(kNewcomer, "t"), "t")->status, ResponseStatus::kOk);
  note_admitted();
  const std::string link = join_of(kNewcomer, "t").link_key;
  ASSERT_TRUE(is_let_in(link, gossip::Sender::Kind::kHost));
  for (const char* time : {"first", "again"}) {
    const auto said = bare.ask(request(Verb::kRevokeHost, encode_payload(HostRef{kNewcomer})));
    ASSERT_TRUE(said.has_value()) << time;
    EXPECT_EQ(said->status, ResponseStatus::kOk) << time << ": " << said->text;
    note_admitted();
  }
  EXPECT_TRUE(is_let_in(link, gossip::Sender::Kind::kNobody));
  const crdt::Field* field = bare.node().store().field(kNewcomer, crdt::FieldId::kRoll);
  ASSERT_NE(field, nullptr);
  EXPECT_TRUE(crdt::decode_roll(field->bytes)->revoked);
  EXPECT_EQ(field->version.sequence, Sequence(2)) << "said again, nothing changes";

  const auto back = show(join_of(kNewcomer, "t"), "t");
  EXPECT_EQ(back->status, ResponseStatus::kConflict) << "its old ticket";
  make_ticket("u");
  EXPECT_EQ(show(join_of(kNewcomer, "u"), "u")->status, ResponseStatus::kConflict) << "a new one";
}

/// The answer to a login of the newcomer, a member by a plain ticket.
TEST_F(Join, AHostThatMayNotVouchSpeaksForItselfAlone) {
  make_ticket("t");
  ASSERT_EQ(show(join_of(kNewcomer, "t"), "t")->status, ResponseStatus::kOk);
  const gossip::Sender newcomer{gossip::Sender::Kind::kHost, kNewcomer};
  const auto submit = say(newcomer, Verb::kSubmit, submit_arguments());
  EXPECT_EQ(submit->status, ResponseStatus::kDenied);
  EXPECT_NE(submit->text.find("ask on self"), std::string::npos) << submit->text;
  for (const Verb verb : {Verb::kJobs, Verb::kOutput, Verb::kDrain, Verb::kMakeTicket,
                          Verb::kTickets, Verb::kSetHost, Verb::kRevokeHost, Verb::kFence}) {
    EXPECT_EQ(say(newcomer, verb, "")->status, ResponseStatus::kDenied) << static_cast<int>(verb);
  }
  EXPECT_EQ(say(newcomer, Verb::kQuorum, "")->status, ResponseStatus::kOk);
  EXPECT_EQ(say(newcomer, Verb::kHosts, "")->status, ResponseStatus::kOk);

  const auto set = bare.ask(
      request(Verb::kSetHost, encode_payload(SetHostArgs{kNewcomer, Wish::kAsItIs, Wish::kYes})));
  ASSERT_EQ(set->status, ResponseStatus::kOk) << set->text;
  EXPECT_EQ(say(newcomer, Verb::kJobs, "")->status, ResponseStatus::kOk);
  EXPECT_EQ(say(newcomer, Verb::kSetHost, "")->status, ResponseStatus::kDenied)
      << "what makes voters is for voters to say";
  bare.ask(
      request(Verb::kSetHost, encode_payload(SetHostArgs{kNewcomer, Wish::kAsItIs, Wish::kNo})));
  EXPECT_EQ(say(newcomer, Verb::kJobs, "")->status, ResponseStatus::kDenied);
}

TEST_F(Join, AHostThatMayNotVoteIsNoVoterUntilItMay) {
  make_ticket("t");
  ASSERT_EQ(show(join_of(kNewcomer, "t"), "t")->status, ResponseStatus::kOk);
  const auto added = bare.ask(request(
      Verb::kChangeQuorum, encode_payload(QuorumWish{scheduler::QuorumAction::kAdd, kNewcomer})));
  ASSERT_TRUE(added.has_value()) << "it is refused at once";
  EXPECT_EQ(added->status, ResponseStatus::kConflict);
  EXPECT_NE(added->text.find(" may not vote: allow it first with `muster hosts set "),
            std::string::npos)
      << added->text;
  ASSERT_EQ(bare.ask(request(Verb::kRevokeHost, encode_payload(HostRef{kNewcomer})))->status,
            ResponseStatus::kOk);
  const auto revoked = bare.ask(request(
      Verb::kChangeQuorum, encode_payload(QuorumWish{scheduler::QuorumAction::kAdd, kNewcomer})));
  ASSERT_TRUE(revoked.has_value());
  EXPECT_EQ(revoked->status, ResponseStatus::kNotFound) << revoked->text;
}

TEST_F(Join, TheLastHostThatMaySpeakOrVoteIsLeftItsRight) {
  const auto vouch = bare.ask(
      request(Verb::kSetHost, encode_payload(SetHostArgs{kPeer, Wish::kAsItIs, Wish::kNo})));
  EXPECT_EQ(vouch->status, ResponseStatus::kOk) << vouch->text;
  const auto last = bare.ask(
      request(Verb::kSetHost, encode_payload(SetHostArgs{kSelf, Wish::kAsItIs, Wish::kNo})));
  EXPECT_EQ(last->status, ResponseStatus::kConflict);
  EXPECT_NE(last->text.find("the last host that may vouch"), std::string::npos) << last->text;
  const auto leader = bare.ask(
      request(Verb::kSetHost, encode_payload(SetHostArgs{kSelf, Wish::kNo, Wish::kAsItIs})));
  EXPECT_EQ(leader->status, ResponseStatus::kConflict) << leader->text;
}

TEST_F(Join, TheAuthorityIsReplacedWhenAHostLosesOrGetsItsVote) {
  const auto number = [this] { return bare.node().authority().number(); };
  make_ticket("t");
  ASSERT_EQ(show(join_of(kNewcomer, "t"), "t")->status, ResponseStatus::kOk);
  ASSERT_EQ(number(), 1U);
  for (const Wish wish : {Wish::kYes, Wish::kNo}) {
    const std::uint64_t before = number();
    const auto set = bare.ask(
        request(Verb::kSetHost, encode_payload(SetHostArgs{kNewcomer, wish, Wish::kAsItIs})));
    ASSERT_EQ(set->status, ResponseStatus::kOk) << set->text;
    bare.pass(std::chrono::seconds(5));
    EXPECT_EQ(number(), before + 1);
    bare.pass(std::chrono::seconds(5));
    EXPECT_EQ(number(), before + 1) << "once";
  }
}

TEST_F(Join, NobodyRevokesTheLeaderNorAStranger) {
  const auto leader = bare.ask(request(Verb::kRevokeHost, encode_payload(HostRef{kSelf})));
  EXPECT_EQ(leader->status, ResponseStatus::kConflict);
  EXPECT_NE(leader->text.find("hand the leadership over first"), std::string::npos) << leader->text;
  const auto stranger = bare.ask(request(Verb::kRevokeHost, encode_payload(HostRef{kNewcomer})));
  EXPECT_EQ(stranger->status, ResponseStatus::kNotFound);
  EXPECT_EQ(bare.ask(request(Verb::kRevokeHost, "garbage"))->status, ResponseStatus::kUsage);
}

TEST_F(Join, ArgumentsThatCannotBeReadAreRefusedWhateverTheVerb) {
  for (const VerbRow& row : verbs::kTable) {
    const std::string garbage = "\xc1garbage";
    const bool is_for_others = is(row.verb, Openness::kTicket) ||
                               is(row.verb, Answerer::kUnjoined) || is(row.verb, Answerer::kSigner);
    if (row.is_readable(garbage) || is_for_others) {
      continue;  // It asks with no arguments; or a member does not take it from a login at all.
    }
    const auto answer = bare.ask(request(row.verb, garbage));
    ASSERT_TRUE(answer.has_value()) << row.name;
    EXPECT_EQ(answer->status, ResponseStatus::kUsage) << row.name << ": " << answer->text;
    EXPECT_NE(answer->text.find("'" + std::string(row.name) + "'"), std::string::npos)
        << answer->text;
  }
}

TEST_F(Join, ATicketIsForJoiningAlone) {
  make_ticket("t");
  for (std::size_t number = 0; number < kByteValues; ++number) {
    const auto verb = static_cast<Verb>(number);
    if (verb != Verb::kJoin) {
      const auto answer = say({gossip::Sender::Kind::kTicket, {}, "t"}, verb, "");
      ASSERT_TRUE(answer.has_value()) << number;
      EXPECT_EQ(answer->status, ResponseStatus::kDenied) << number;
      EXPECT_EQ(answer->payload, "") << number;
    }
  }
}

TEST_F(Join, NobodyJoinsWithoutOne) {
  EXPECT_NE(show(join_of(kNewcomer, "t"), "t")->status, ResponseStatus::kOk);
  make_ticket("t");
  const std::string words = encode_payload(join_of(kNewcomer, "t"));
  EXPECT_EQ(say({gossip::Sender::Kind::kLogin}, Verb::kJoin, words)->status,
            ResponseStatus::kDenied);
  EXPECT_EQ(say({gossip::Sender::Kind::kNobody}, Verb::kJoin, words), std::nullopt);
  EXPECT_EQ(bare.node().store().field(kNewcomer, crdt::FieldId::kRoll), nullptr);
}

TEST_F(Join, ASecondHostIsToldThatTheTicketWasUsed) {
  make_ticket("t");
  EXPECT_EQ(show(join_of(kNewcomer, "t"), "t")->status, ResponseStatus::kOk);
  EXPECT_EQ(show(join_of(kNewcomer, "t"), "t")->status, ResponseStatus::kOk)
      << "its answer was lost";
  const auto second = show(join_of(HostId::from_bytes("another_________"), "t"), "t");
  EXPECT_EQ(second->status, ResponseStatus::kConflict);
  EXPECT_EQ(second->text, "the ticket was used");
}

TEST_F(Join, NobodyTakesAnothersLinkKey) {
  make_ticket("t");
  JoinArgs stolen = join_of(kNewcomer, "t");
  stolen.link_key = std::string(kPeer.bytes());
  stolen.signature = gossip::testing::StandInSigner(kNewcomer).sign(join_words(stolen));
  EXPECT_EQ(show(stolen, "t")->status, ResponseStatus::kUsage) << "nor one of another size";
  stolen = join_of(kNewcomer, "t");
  EXPECT_EQ(show(stolen, "t")->status, ResponseStatus::kOk);
  make_ticket("u");
  JoinArgs thief = join_of(HostId::from_bytes("thief___________"), "u");
  thief.link_key = stolen.link_key;
  thief.signature = gossip::testing::StandInSigner(HostId::from_bytes("thief___________"))
                        .sign(join_words(thief));
  EXPECT_EQ(show(thief, "u")->status, ResponseStatus::kConflict);
}

TEST_F(Join, NobodyTakesAnothersIdentity) {
  make_ticket("t");
  JoinArgs stolen = join_of(kPeer, "t");
  stolen.signature = gossip::testing::StandInSigner(kNewcomer).sign(join_words(stolen));
  EXPECT_EQ(show(stolen, "t")->status, ResponseStatus::kUsage);
  JoinArgs replayed = join_of(kPeer, "elsewhere");
  EXPECT_EQ(show(replayed, "t")->status, ResponseStatus::kUsage) << "it was said of another ticket";
}

TEST_F(Join, AMessageCountsAsOfWhomItsLinkProves) {
  const std::uint64_t dropped = bare.node().dropped_count();
  const std::string probe = gossip::encode(
      BareNode::envelope(gossip::MessageType::kHello, bare.node().cluster()), "\x90");
  for (const gossip::Sender& sender :
       {gossip::Sender{}, gossip::Sender{gossip::Sender::Kind::kLogin},
        gossip::Sender{gossip::Sender::Kind::kTicket, {}, "t"},
        gossip::Sender{gossip::Sender::Kind::kHost, kNewcomer}}) {
    bare.feed(gossip::Received{kRoute, gossip::Channel::kControl, probe, {}, sender});
  }
  EXPECT_EQ(bare.node().dropped_count(), dropped + 4);
}

TEST_F(Join, WhoeverTakesTurnsToBeRefusedIsNotLoggedForEver) {
  const std::uint64_t dropped = bare.node().dropped_count();
  for (int times = 0; times < 500; ++times) {
    for (const HostId& from : {kNewcomer, HostId::from_bytes("another_________")}) {
      gossip::Envelope said =
          BareNode::envelope(gossip::MessageType::kHello, bare.node().cluster());
      said.from = from;
      bare.feed(gossip::Received{kRoute,
                                 gossip::Channel::kControl,
                                 gossip::encode(said, "\x90"),
                                 {},
                                 {gossip::Sender::Kind::kHost, from}});
    }
  }
  EXPECT_EQ(bare.node().dropped_count(), dropped + 1000) << "all are counted";
  EXPECT_LE(bare.count("not_allowed"), 20U);
  EXPECT_GE(bare.count("not_allowed"), 2U);
}

}  // namespace
}  // namespace muster::agent

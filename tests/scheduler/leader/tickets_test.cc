// Tickets and the hosts that join with them, as the log orders it: one leader, scripted.

#include "tests/scheduler/leader/one_leader.h"

namespace muster::scheduler {
namespace {

using namespace testing;               // NOLINT: the fixture's verbs
using namespace std::chrono_literals;  // NOLINT

class Tickets : public OneLeader {
 protected:
  template <class T>
  ClientReply say(T word) {
    give(input::ClientOrder{++request, std::move(word)});
    return replies.back();
  }
  ClientReply make(const std::string& key, std::uint64_t uses = 1, Duration ttl = 1h,
                   const std::string& host_name = "") {
    return say(entry::MakeTicket{key, uses, ttl, false, false, host_name, {"ann@a"}, made_at});
  }
  ClientReply enrol(std::uint64_t host, const std::string& ticket, std::uint64_t edition = 1,
                    const std::string& name = "n") {
    return say(entry::Enrol{
        host_id(host), 1, edition, "record", "signature", ticket, name, false, {}, true});
  }
  HostId made_at;  ///< The host whose login makes the next tickets.
  bool is_done(const ClientReply& reply) const { return !reply.error.has_value(); }
  bool is_member(std::uint64_t host) {
    return scheduler.state().roll().find(host_id(host)) != nullptr;
  }
};

TEST_F(Tickets, LetInAsManyAsTheyWereMadeFor) {
  EXPECT_TRUE(is_done(make("t", 2)));
  EXPECT_TRUE(is_done(enrol(1, "t")));
  EXPECT_TRUE(is_done(enrol(2, "t")));
  EXPECT_FALSE(is_done(enrol(3, "t")));
  EXPECT_EQ(replies.back().error->text, "the ticket was used 2 times, its limit");
  EXPECT_TRUE(is_member(1) && is_member(2));
  EXPECT_FALSE(is_member(3));
}

TEST_F(Tickets, ALostAnswerIsRepeatedForNothing) {
  make("t");
  EXPECT_TRUE(is_done(enrol(1, "t")));
  EXPECT_TRUE(is_done(enrol(1, "t")));
  EXPECT_EQ(scheduler.state().roll().ticket("t")->used_by.size(), 1U);
  EXPECT_FALSE(is_done(enrol(2, "t")));
}

TEST_F(Tickets, WhoThrowsAHostOutIsToldWhenItJoinedAnewInThatMoment) {
  make("t");
  enrol(1, "t");
  entry::Enrol revoked{host_id(1), 1, 2, "revoked", "signature", "", "n", true, "ann@a"};
  EXPECT_TRUE(is_done(enrol(1, "t", 2)));
  EXPECT_FALSE(is_done(say(revoked))) << "of the edition that the log gave to the other";
  revoked.edition = 3;
  EXPECT_TRUE(is_done(say(revoked)));
  EXPECT_TRUE(is_done(say(revoked))) << "said again";
  EXPECT_EQ(scheduler.state().roll().find(host_id(1))->record, "revoked");
}

TEST_F(Tickets, OfAHostThatIsRevokedEndWithIt) {
  make("door", 9);
  enrol(1, "door");
  made_at = host_id(1);
  make("left open", 5);
  make("too");
  make("ended");
  say(entry::EndTicket{"ended", "bob@b"});
  made_at = host_id(2);
  make("of another");
  const auto reply =
      say(entry::Enrol{host_id(1), 1, 2, "revoked", "signature", "", "n", true, {"ann@a"}});
  EXPECT_TRUE(is_done(reply));
  EXPECT_EQ(reply.told, "2 open tickets made there are revoked");
  EXPECT_FALSE(is_done(enrol(3, "left open")));
  EXPECT_EQ(replies.back().error->text, "the ticket was revoked by the revocation of host n");
  EXPECT_EQ(scheduler.state().roll().ticket("ended")->ended_by, "bob@b");
  EXPECT_TRUE(is_done(enrol(3, "of another")));
  EXPECT_TRUE(is_done(enrol(4, "door")));
}

TEST_F(Tickets, OfAHostThatIsRevokedAreNotMadeAfterwards) {
  make("door");
  enrol(1, "door");
  say(entry::Enrol{host_id(1), 1, 2, "revoked", "signature", "", "n", true, {"ann@a"}});
  made_at = host_id(1);
  EXPECT_FALSE(is_done(make("late")));
  EXPECT_EQ(replies.back().error->text,
            "the host that asks for this ticket may not vouch any more");
  EXPECT_EQ(scheduler.state().roll().ticket("late"), nullptr);
}

TEST_F(Tickets, OfAHostThatMayNotVouchAnyMoreEnd) {
  make("door", 9);
  enrol(1, "door");
  made_at = host_id(1);
  make("left open", 5);
  const auto reply =
      say(entry::Enrol{host_id(1), 1, 2, "less", "signature", "", "n", false, {"ann@a"}, false});
  EXPECT_TRUE(is_done(reply));
  EXPECT_EQ(reply.told, "1 open ticket made there is revoked");
  EXPECT_FALSE(is_done(enrol(3, "left open")));
  EXPECT_EQ(replies.back().error->text, "the ticket was revoked by taking --may-vouch from host n");
  EXPECT_FALSE(is_done(make("late")));
  say(entry::Enrol{host_id(1), 1, 3, "more", "signature", "", "n", false, {"ann@a"}, true});
  EXPECT_TRUE(is_done(make("again")));
}

TEST_F(Tickets, AnOrderThatAnotherOvertookIsTold) {
  make("t");
  enrol(1, "t");
  EXPECT_TRUE(is_done(
      say(entry::Enrol{host_id(1), 1, 2, "votes", "signature", "", "n", false, {"ann@a"}, true})));
  EXPECT_FALSE(is_done(say(entry::Enrol{
      host_id(1), 1, 2, "vouches not", "signature", "", "n", false, {"bob@b"}, false})))
      << "both were made of the first record";
  EXPECT_EQ(scheduler.state().roll().find(host_id(1))->record, "votes");
}

TEST_F(Tickets, RunOutByClusterTimeThoughNothingElseHappens) {
  make("t", 1, 60s);
  pass(50s);
  EXPECT_EQ(scheduler.state().roll().ticket("t")->why_not(scheduler.state().cluster_time()), "");
  pass(20s);
  EXPECT_FALSE(is_done(enrol(1, "t")));
  EXPECT_EQ(replies.back().error->text, "the ticket has expired");
  EXPECT_FALSE(scheduler.state().has_open_ticket());
}

TEST_F(Tickets, OfAnIdleClusterCostFewEntriesAndWorkIsNotChargedForThem) {
  make("t", 1, 1h);
  const LogIndex before = scheduler.state().applied();
  pass(10min);
  EXPECT_LE(scheduler.state().applied().value(), before.value() + 21);
  pass(25s);
  const Duration idle = scheduler.state().cluster_time();
  join(1);
  submit(2, "gang");
  pass(2s);
  EXPECT_LE(scheduler.state().cluster_time(), idle + 3s) << "25 s passed before there was work";
}

TEST_F(Tickets, ThatWereEndedOrNeverMadeLetNobodyIn) {
  make("t", 5);
  EXPECT_TRUE(is_done(enrol(1, "t")));
  EXPECT_TRUE(is_done(say(entry::EndTicket{"t", "bob@b"})));
  EXPECT_FALSE(is_done(enrol(2, "t")));
  EXPECT_EQ(replies.back().error->text, "the ticket was revoked by bob@b");
  EXPECT_TRUE(is_done(enrol(1, "t"))) << "whom it let in before is answered";
  EXPECT_FALSE(is_done(enrol(2, "u")));
  EXPECT_FALSE(is_done(say(entry::EndTicket{"u", "bob@b"})));
}

TEST_F(Tickets, MayBeForOneHostByName) {
  make("t", 1, 1h, "gpu7");
  EXPECT_FALSE(is_done(enrol(1, "t", 1, "gpu8")));
  EXPECT_TRUE(is_done(enrol(1, "t", 1, "gpu7")));
}

TEST_F(Tickets, OfNonsenseAreRefused) {
  EXPECT_FALSE(is_done(make("t", 0)));
  EXPECT_FALSE(is_done(make("t", kTicketUsesMax + 1)));
  EXPECT_FALSE(is_done(make("t", 1, 0s)));
  EXPECT_FALSE(is_done(make("t", 1, kTicketTtlMax + 1s)));
  EXPECT_FALSE(is_done(make("")));
  EXPECT_FALSE(is_done(make(std::string(200, 'k')))) << "no voter could read it";
  EXPECT_FALSE(is_done(make("t", 1, 1h, std::string(300, 'n'))));
  make("t");
  EXPECT_FALSE(is_done(enrol(1, "t", 1, std::string(300, 'n'))));
  EXPECT_EQ(halted, "");
  EXPECT_TRUE(is_done(enrol(1, "t")));
}

TEST_F(Tickets, TheNewestRecordOfAHostCounts) {
  make("t", 2);
  enrol(1, "t", 3);
  enrol(1, "t", 2);
  EXPECT_EQ(scheduler.state().roll().find(host_id(1))->edition, 3U);
  give(input::RollMet{{entry::Enrol{host_id(1), 2, 1, "new", "s", "", "", false, {""}},
                       entry::Enrol{host_id(2), 1, 1, "old", "s", "", "", false, {""}}},
                      {},
                      {}});
  EXPECT_EQ(scheduler.state().roll().find(host_id(1))->record, "new") << "a later authority";
  EXPECT_TRUE(is_member(2)) << "the log lacked it";
}

TEST_F(Tickets, OneRoundOfKeysIsWishedForOnce) {
  EXPECT_TRUE(is_done(say(entry::RotateKeys{2, "ann@a"})));
  EXPECT_EQ(scheduler.state().roll().keys().round, 2U);
  EXPECT_TRUE(is_done(say(entry::RotateKeys{1, "bob@b"})));
  EXPECT_EQ(scheduler.state().roll().keys().round, 2U);
}

TEST_F(Tickets, OfTwoAuthoritiesThatFollowOneTheFirstCounts) {
  EXPECT_TRUE(is_done(say(entry::ReplaceAuthority{2, "key", "s", {{host_id(1), "box"}}, "ann@a"})));
  EXPECT_TRUE(is_done(say(entry::ReplaceAuthority{2, "key", "s", {}, "ann@a"}))) << "said again";
  EXPECT_FALSE(is_done(say(entry::ReplaceAuthority{2, "rival", "s", {}, "bob@b"})));
  EXPECT_FALSE(is_done(say(entry::ReplaceAuthority{4, "key", "s", {}, "bob@b"})));
  const RollKeys& keys = scheduler.state().roll().keys();
  ASSERT_EQ(keys.links.size(), 1U);
  EXPECT_EQ(keys.links[0].key, "key");
  EXPECT_EQ(keys.authority(), 2U);
  EXPECT_EQ(keys.sealed.size(), 1U);
}

TEST_F(Tickets, OutliveASnapshot) {
  make("t", 3);
  enrol(1, "t");
  say(entry::RotateKeys{2, "ann@a"});
  say(entry::ReplaceAuthority{2, "key", "s", {{host_id(1), "box"}}, "ann@a"});
  const Result<State> restored = State::decode(scheduler.state().encode());
  ASSERT_TRUE(restored.has_value());
  EXPECT_EQ(restored->digest(), scheduler.state().digest());
  EXPECT_EQ(restored->roll().keys(), scheduler.state().roll().keys());
  EXPECT_EQ(*restored->roll().ticket("t"), *scheduler.state().roll().ticket("t"));
  EXPECT_EQ(*restored->roll().find(host_id(1)), *scheduler.state().roll().find(host_id(1)));
}

}  // namespace
}  // namespace muster::scheduler

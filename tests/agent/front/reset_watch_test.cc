// Goal: each host raises the alarm once for each reset that happens in its time, whichever way it
// hears of it, and again after no restart.

#include "agent/front/reset_watch.h"

#include <gtest/gtest.h>

#include "agent/front/directory_copy.h"
#include "agent/front/user_model.h"

namespace muster::agent {
namespace {

using scheduler::AdminReset;
using scheduler::Directory;

Directory founded() {
  Directory directory;
  directory.found({"root"}, LogIndex(1));
  return directory;
}

Directory with_reset(std::uint64_t epoch, std::uint64_t at) {
  Directory directory = founded();
  const gossip::SshKey key{gossip::SshKeyType::kEd25519, std::string(gossip::kSshPointBytes, 'k'),
                           ""};
  EXPECT_TRUE(directory.reset_admin({key, ""}, {epoch, LogIndex(at), "ann", "root@n1"}));
  return directory;
}

crdt::Records kept(const ResetWatch::News& news) {
  crdt::Records disk;
  for (const crdt::Write& write : news.writes) {
    disk[write.key] = write.value.value_or("");
  }
  return disk;
}

TEST(ResetWatch, RaisesTheAlarmOnceAndKeepsThatItDid) {
  ResetWatch watch({}, Directory());
  EXPECT_FALSE(watch.look(Directory()).has_value());
  EXPECT_FALSE(watch.look(founded()).has_value());
  const auto news = watch.look(with_reset(1, 50));
  ASSERT_TRUE(news.has_value() && news->alarm.has_value());
  EXPECT_EQ(news->alarm->severity, Severity::kAlarm);
  EXPECT_EQ(news->alarm->text(), "admin_reset admin=ann by=root@n1 entry=50");
  EXPECT_FALSE(watch.look(with_reset(1, 50)).has_value());
  EXPECT_FALSE(watch.look(founded()).has_value()) << "an older copy";

  ResetWatch restarted(kept(*news), founded());
  EXPECT_FALSE(restarted.look(founded()).has_value()) << "its log is read again from the start";
  EXPECT_FALSE(restarted.look(with_reset(1, 50)).has_value());
  EXPECT_TRUE(restarted.look(with_reset(1, 60)).value().alarm.has_value());
}

TEST(ResetWatch, AHostThatWasOffTellsItWhenItHearsOfIt) {
  ResetWatch off({}, founded());
  EXPECT_TRUE(off.look(with_reset(1, 50)).value().alarm.has_value());
}

TEST(ResetWatch, AHostThatIsNewDoesNotTellWhatWasBeforeIt) {
  ResetWatch fresh({}, Directory());
  const auto first = fresh.look(with_reset(1, 50));
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(first->alarm.has_value());
  EXPECT_TRUE(fresh.look(with_reset(2, 40)).value().alarm.has_value()) << "in the next epoch";
}

TEST(ResetWatch, UnreadableBytesAreNone) {
  ResetWatch watch({{"users/reset", "\xff"}}, founded());
  EXPECT_TRUE(watch.look(with_reset(1, 50)).value().alarm.has_value());
}

TEST(ResetWatch, ACopyOfTheListNamesTheReset) {
  const Directory log = with_reset(3, 70);
  const auto copy = directory_of(user_list(log, ""));
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(copy->last_reset(), log.last_reset());
}

}  // namespace
}  // namespace muster::agent

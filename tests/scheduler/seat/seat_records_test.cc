// The records of raft/ that a seat trusts.

#include "scheduler/seat/seat_records.h"

#include <gtest/gtest.h>

#include "scheduler/raft/first_quorum_messages.h"

namespace muster::scheduler {
namespace {

const HostId kFirst = HostId::from_bytes("first___________");
const HostId kOther = HostId::from_bytes("other___________");

crdt::Records records_of_voter(HostId voter) {
  crdt::WriteBatch writes;
  write_formed_to({ClusterId::from_bytes("cluster_________"), {voter}}, writes);
  crdt::Records records;
  for (const crdt::Write& write : writes) {
    if (write.value.has_value()) {
      records[write.key] = *write.value;
    }
  }
  return records;
}

TEST(SeatRecords, AnEmptyRaftAndItsOwnSeatAreTrusted) {
  EXPECT_TRUE(check_seat({}, kFirst));
  EXPECT_TRUE(check_seat(records_of_voter(kFirst), kFirst));
}

TEST(SeatRecords, AQuorumWithoutThisHostIsAConflict) {
  const Status checked = check_seat(records_of_voter(kFirst), kOther);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::kConflict);
  EXPECT_NE(checked.error().text.find("not one of its voters"), std::string::npos);
}

}  // namespace
}  // namespace muster::scheduler

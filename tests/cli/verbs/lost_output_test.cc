// An order's effect is told though stdout is closed, full or a pipe that nobody reads.

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "agent/api/enrolment.h"
#include "agent/api/jobs.h"
#include "agent/api/request.h"
#include "tests/cli/kit/fake_world.h"
#include "tests/cli/kit/samples.h"

namespace muster::cli {
namespace {

Result<agent::Response> answer(const agent::Request& request) {
  return request.verb == agent::Verb::kHosts        ? answer_with(sample_hosts())
         : request.verb == agent::Verb::kShow       ? answer_with(sample_detail())
         : request.verb == agent::Verb::kMakeTicket ? answer_with(agent::TicketMade())
                                                    : answer_with(agent::JobRef{JobId(17)});
}

class LostOutput : public testing::Test {
 protected:
  int run(const std::vector<std::string>& args) {
    world.answers(answer);
    world.world().out = &lost;
    return world.run(args);
  }

  FakeWorld world;
  std::ostream lost{nullptr};
};

struct Change {
  std::vector<std::string> args;
  std::string told;
};

const std::vector<Change>& changes() {
  static const std::vector<Change> all = {
      {{"submit", "--", "true"}, "job 17\n"},
      {{"submit", "--json", "--", "true"}, "{\"job_id\":17,"},
      {{"cancel", "17"}, "job 17 cancelled\n"},
      {{"suspend", "17"}, "job 17 suspended\n"},
      {{"resume", "17"}, "job 17 resumed\n"},
      {{"requeue", "17"}, "job 17 requeued\n"},
      {{"priority", "17", "3"}, "17"},
      {{"hosts", "drain", "a"}, "host a drained\n"},
      {{"hosts", "undrain", "a"}, "host a undrained\n"},
  };
  return all;
}

TEST_F(LostOutput, WhatWasDoneIsToldByStderr) {
  for (const Change& change : changes()) {
    FakeWorld one;
    one.answers(answer);
    one.world().out = &lost;
    EXPECT_EQ(one.run(change.args), 0) << change.args[0];
    EXPECT_NE(one.err().find("cannot write to stdout; the answer follows here:\n"),
              std::string::npos)
        << one.err();
    EXPECT_NE(one.err().find(change.told), std::string::npos) << one.err();
  }
}

TEST_F(LostOutput, WithoutAnyStreamTheExitCodeSaysThatTheOutcomeIsUnknown) {
  for (const Change& change : changes()) {
    FakeWorld one;
    one.answers(answer);
    one.world().out = &lost;
    one.world().err = &lost;
    EXPECT_EQ(one.run(change.args), 75) << change.args[0];
  }
}

TEST_F(LostOutput, ASecretIsNotWrittenToStderr) {
  EXPECT_EQ(run({"ticket"}), 75);
  EXPECT_EQ(world.err().find("secret"), std::string::npos) << world.err();
  EXPECT_NE(world.err().find("could not be written to stdout and is lost"), std::string::npos)
      << world.err();
}

TEST_F(LostOutput, OfAQuestionItIsAFailure) {
  EXPECT_EQ(run({"show", "17"}), 1);
  EXPECT_EQ(world.err(), "muster: the answer could not be written to stdout\n");
}

}  // namespace
}  // namespace muster::cli

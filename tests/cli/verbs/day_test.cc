// A day's verbs: whose jobs are shown and meant, hosts that are drained, usage, environments.

#include <gtest/gtest.h>

#include <sstream>

#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "cli/kit/host_list.h"
#include "cli/kit/job_choice.h"
#include "cli/verbs/app.h"
#include "cli/verbs/manual.h"
#include "tests/cli/kit/fake_world.h"
#include "tests/cli/kit/samples.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;
using agent::Verb;

agent::JobSummary job_of(std::uint64_t id, const std::string& user, const std::string& state) {
  agent::JobSummary job = sample_job(id, state);
  job.user = user;
  return job;
}

agent::Response jobs_are(std::vector<agent::JobSummary> jobs) {
  return answer_with(agent::JobList{std::move(jobs), JobId()});
}

/// The ids in the first column of what `jobs --no-header` prints.
std::vector<std::string> ids_of(const std::string& table) {
  std::vector<std::string> ids;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    words >> ids.emplace_back();
  }
  return ids;
}

using Ids = std::vector<std::string>;

TEST(HostList, IsSortedAndShort) {
  EXPECT_EQ(short_host_list({}), "");
  EXPECT_EQ(short_host_list({"b", "a"}), "a,b");
  EXPECT_EQ(short_host_list({"gpu3", "gpu1", "gpu2", "gpu7", "gpu2"}), "gpu[1-3,7]");
  EXPECT_EQ(short_host_list({"gpu1", "gpu2"}), "gpu[1,2]");
  EXPECT_EQ(short_host_list({"gpu08", "gpu09", "gpu10", "login"}), "gpu10,gpu[08,09],login")
      << "a number that begins with a zero is another form";
  EXPECT_EQ(short_host_list({"7", "x1234567890"}), "7,x1234567890");
}

TEST(JobChoice, Globs) {
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("sweep-*", "sweep-12"));
  EXPECT_TRUE(matches_glob("s*p-?2", "sweep-12"));
  EXPECT_FALSE(matches_glob("s*p-?2", "sweep-13"));
  EXPECT_FALSE(matches_glob("sweep", "sweep-1"));
  EXPECT_TRUE(matches_glob("**a**", "banana"));
}

TEST(Jobs, OnesOwnAreShownAndWhatRunsOfOthers) {
  const auto list = jobs_are({job_of(1, "ann", "queued"), job_of(2, "bob", "queued"),
                              job_of(3, "bob", "running"), job_of(4, "bob", "completed")});
  FakeWorld own;
  own.answers(list);
  EXPECT_EQ(ids_of(own.output_of({"jobs", "--no-header"})), (Ids{"1", "3"}));
  EXPECT_NE(own.err().find("2 of others that do not run"), std::string::npos) << own.err();
  for (const auto& [words, wanted] :
       {std::pair{std::vector<std::string>{"--all"}, Ids{"1", "2", "3", "4"}},
        std::pair{std::vector<std::string>{"-u", "bob"}, Ids{"2", "3", "4"}},
        std::pair{std::vector<std::string>{"2-3"}, Ids{"2", "3"}},
        std::pair{std::vector<std::string>{"--all", "--sort", "-id", "--limit", "2"},
                  Ids{"4", "3"}},
        std::pair{std::vector<std::string>{"--all", "--sort", "state"}, Ids{"4", "1", "2", "3"}},
        std::pair{std::vector<std::string>{"-a", "--state", "queued", "--state", "completed"},
                  Ids{"1", "2", "4"}}}) {
    FakeWorld world;
    world.answers(list);
    std::vector<std::string> args = {"jobs", "--no-header"};
    args.insert(args.end(), words.begin(), words.end());
    EXPECT_EQ(ids_of(world.output_of(args)), wanted) << words.front();
  }
}

TEST(Jobs, OneWhoseHostIsSilentIsNotCalledRunning) {
  FakeWorld world;
  agent::JobSummary job = job_of(1, "ann", "running");
  job.is_doubtful = true;
  job.reason = "host b has been silent for 3 s; requeued elsewhere in about 2m, unless ...";
  world.answers(jobs_are({job}));
  EXPECT_NE(world.output_of({"jobs"}).find("running?"), std::string::npos);
}

TEST(JobOrders, AChoiceMeansOnesOwnThatCanBeMeant) {
  FakeWorld world;
  world.answers([&](const agent::Request& request) -> Result<agent::Response> {
    if (request.verb == Verb::kJobs) {
      return jobs_are({job_of(1, "ann", "queued"), job_of(2, "bob", "queued"),
                       job_of(3, "ann", "completed"), job_of(4, "ann", "running")});
    }
    return answer_with(agent::JobRef{JobId(1)});
  });
  EXPECT_EQ(world.output_of({"cancel", "--name", "lla*"}), "job 1 cancelled\njob 4 cancelled\n");
}

TEST(JobOrders, MoreThanTenAreAskedAbout) {
  const auto answer = [](const agent::Request& request) -> Result<agent::Response> {
    std::vector<agent::JobSummary> jobs;
    for (std::uint64_t id = 1; id <= 11; ++id) {
      jobs.push_back(job_of(id, "ann", "queued"));
    }
    return request.verb == Verb::kJobs ? jobs_are(jobs) : answer_with(agent::JobRef{JobId(1)});
  };
  FakeWorld script;
  script.answers(answer);
  EXPECT_EQ(script.run({"cancel", "1-11"}), 2);
  EXPECT_NE(script.err().find("to cancel 11 jobs at once, use --yes"), std::string::npos);
  EXPECT_EQ(script.requests().size(), 1U);
  FakeWorld sure;
  sure.answers(answer);
  EXPECT_EQ(sure.run({"cancel", "1-11", "--yes"}), 0);
  EXPECT_EQ(sure.requests().size(), 12U);
  FakeWorld person;
  person.answers(answer);
  person.world().terminal.ask = [](const std::string&) { return std::optional<std::string>("no"); };
  EXPECT_EQ(person.run({"cancel", "--all"}), 2);
}

TEST(Hosts, ADrainedOneSaysByWhomWhyAndWhatItWaitsFor) {
  FakeWorld world;
  world.answers(answer_with(sample_hosts()));
  world.uses = sample_uses();
  world.uses.hosts[0].is_drained = true;
  world.uses.hosts[0].drain = {"ann@a", "fan 3", 300'000, true, 90'000};
  const std::string shown = world.output_of({"hosts"});
  EXPECT_NE(shown.find("a     61616161  draining"), std::string::npos) << shown;
  EXPECT_NE(shown.find("host a drained by ann@a 5m ago (fan 3): waits for job 7, queued again in "
                       "1m30s\n"),
            std::string::npos)
      << shown;
}

TEST(Hosts, WhatIsGoneForGoodIsShownOnlyWhenAskedFor) {
  FakeWorld world;
  world.answers(answer_with(sample_hosts()));
  world.uses = sample_uses();
  world.uses.hosts[1].is_removed = true;
  EXPECT_EQ(world.output_of({"hosts"}).find("\nb "), std::string::npos);
  EXPECT_NE(world.err().find("1 host that is gone for good not shown (--all)"), std::string::npos);
  EXPECT_NE(world.output_of({"hosts", "--all"}).find("removed"), std::string::npos);
}

TEST(HostOrders, EachNamesItsHost) {
  for (const auto& [words, verb, said] :
       {std::tuple{std::vector<std::string>{"hosts", "undrain", "b"}, Verb::kUndrain,
                   "host b undrained\n"},
        std::tuple{std::vector<std::string>{"hosts", "remove", "b"}, Verb::kRemoveHost,
                   "host b removed\n"},
        std::tuple{std::vector<std::string>{"hosts", "revoke", "b", "--yes"}, Verb::kRevokeHost,
                   "host b revoked\n"}}) {
    FakeWorld world;
    world.answers_in_turn({answer_with(sample_hosts()), agent::Response()});
    EXPECT_EQ(world.output_of(words), said);
    EXPECT_EQ(world.requests().back().verb, verb);
    EXPECT_EQ(agent::decode_payload<agent::HostRef>(world.requests().back().arguments)->host,
              host_id('b'));
  }
}

TEST(HostOrders, ADrainSaysWhyAndWhen) {
  FakeWorld world;
  world.answers_in_turn({answer_with(sample_hosts()), agent::Response()});
  EXPECT_EQ(world.output_of({"hosts", "drain", "b", "--why", "fan", "--deadline", "2h"}),
            "host b drained\n");
  const auto asked = agent::decode_payload<agent::DrainArgs>(world.requests().back().arguments);
  EXPECT_EQ(asked->why, "fan");
  EXPECT_TRUE(asked->requeues);
  EXPECT_EQ(asked->after_ms, 7'200'000U);
  EXPECT_NE(world.err().find("keeps its vote"), std::string::npos);
  FakeWorld at_once;
  at_once.answers_in_turn({answer_with(sample_hosts()), agent::Response()});
  at_once.output_of({"hosts", "drain", "c", "--requeue"});
  const auto now = agent::decode_payload<agent::DrainArgs>(at_once.requests().back().arguments);
  EXPECT_TRUE(now->requeues);
  EXPECT_EQ(now->after_ms, 0U);
  FakeWorld patient;
  patient.answers_in_turn({answer_with(sample_hosts()), agent::Response()});
  patient.output_of({"hosts", "drain", "c"});
  EXPECT_FALSE(
      agent::decode_payload<agent::DrainArgs>(patient.requests().back().arguments)->requeues);
}

TEST(Fence, ThatProcessesAreGoneIsAskedTwice) {
  for (const int agreed : {1, 2}) {
    FakeWorld person;
    int asked = 0;
    person.world().terminal.ask = [&](const std::string&) {
      return std::optional<std::string>(++asked <= agreed ? "yes" : "no");
    };
    person.answers_in_turn({answer_with(sample_hosts()), agent::Response()});
    EXPECT_EQ(person.run({"hosts", "fence", "b", "--processes-gone"}), agreed == 2 ? 0 : 2);
    EXPECT_EQ(asked, 2);
    if (agreed == 2) {
      EXPECT_TRUE(agent::decode_payload<agent::FenceArgs>(person.requests().back().arguments)
                      ->are_processes_gone);
    }
  }
}

TEST(Usage, Table) {
  FakeWorld world;
  agent::UsageList list;
  list.days = 3;
  list.rows = {{"ann", 16, 1, 5'400'000}, {"bob", 0, 0, 360'000}};
  world.answers(answer_with(list));
  EXPECT_EQ(world.output_of({"usage", "--since", "3d"}),
            "USER  JOBS NOW  GPUS NOW  GPU-HOURS\n"
            "ann          1        16        1.5\n"
            "bob          0         0        0.1\n");
  EXPECT_EQ(agent::decode_payload<agent::UsageQuery>(world.requests().back().arguments)->since_ms,
            3U * 24 * 3'600'000);
}

TEST(Priority, NamesTheJobAndItsPlace) {
  FakeWorld world;
  world.answers(answer_with(agent::JobRef{JobId(7)}));
  EXPECT_EQ(world.output_of({"priority", "7", "-5"}), "job 7 has priority -5\n");
  const auto asked = agent::decode_payload<agent::EditArgs>(world.requests().back().arguments);
  EXPECT_EQ(asked->job, JobId(7));
  EXPECT_EQ(asked->priority, -5);
}

TEST(Events, OfAJobAreItsHistoryInTheLog) {
  FakeWorld world;
  agent::JobDetail detail = sample_detail();
  detail.transitions[0].unix_ms = 1'700'000'000'000;
  detail.transitions[1].unix_ms = 1'700'000'060'000;
  world.answers(answer_with(detail));
  EXPECT_EQ(world.output_of({"events", "--job", "17"}),
            "2023-11-14 22:13:20  queued: submitted\n"
            "2023-11-14 22:14:20  running: all ranks ready\n");
  EXPECT_EQ(world.output_of({"events", "--job", "17", "-n", "1"}),
            "2023-11-14 22:13:20  queued: submitted\n"
            "2023-11-14 22:14:20  running: all ranks ready\n"
            "2023-11-14 22:14:20  running: all ranks ready\n")
      << "the world keeps what was printed before";
}

// ---- submit ----

agent::SubmitArgs submitted(const FakeWorld& world) {
  return agent::decode_payload<agent::SubmitArgs>(world.requests().at(0).arguments)
      .value_or(agent::SubmitArgs{});
}

std::vector<std::string> environment_of(const std::vector<std::string>& options) {
  FakeWorld world;
  world.environment = {{"PATH", "/bin"},      {"CONDA_PREFIX", "/conda"}, {"SECRET", "x"},
                       {"VIRTUAL_ENV", "/v"}, {"PWD", "/here"},           {"RANK", "9"}};
  world.answers(answer_with(agent::JobRef{JobId(17)}));
  std::vector<std::string> args = {"submit"};
  args.insert(args.end(), options.begin(), options.end());
  args.insert(args.end(), {"--", "x"});
  world.output_of(args);
  return submitted(world).spec.command.environment;
}

TEST(Submit, TakesAShortListOfTheEnvironmentAlong) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(environment_of({}), (Texts{"CONDA_PREFIX=/conda", "PATH=/bin", "VIRTUAL_ENV=/v"}));
  EXPECT_EQ(environment_of({"--env-none", "-e", "SECRET"}), (Texts{"SECRET=x"}));
  EXPECT_EQ(environment_of({"-e", "PATH=/mine", "--env-none"}), (Texts{"PATH=/mine"}));
  EXPECT_EQ(environment_of({"--env-all"}),
            (Texts{"CONDA_PREFIX=/conda", "PATH=/bin", "SECRET=x", "VIRTUAL_ENV=/v"}))
      << "not what is the shell's alone, nor what each rank is told anyway";
}

TEST(Submit, VariablesOfOursWinAndThatIsSaid) {
  FakeWorld world;
  world.answers(answer_with(agent::JobRef{JobId(17)}));
  world.output_of({"submit", "-e", "MASTER_PORT=1", "--", "x"});
  for (const std::string& variable : submitted(world).spec.command.environment) {
    EXPECT_FALSE(variable.starts_with("MASTER_PORT"));
  }
  EXPECT_NE(world.err().find("MASTER_PORT is set for each rank by Muster"), std::string::npos);
}

TEST(Submit, AJobIsCalledAfterItsScript) {
  for (const auto& [command, wanted] :
       {std::pair{std::vector<std::string>{"/usr/bin/python3", "-u", "jobs/train.py", "--x.py"},
                  "train.py"},
        std::pair{std::vector<std::string>{"python", "-m", "tool.main", "a.py"}, "tool.main"},
        std::pair{std::vector<std::string>{"torchrun", "--nproc", "4", "t.py"}, "t.py"},
        std::pair{std::vector<std::string>{"python3", "-c", "pass"}, "python3"},
        std::pair{std::vector<std::string>{"./solver", "x.py"}, "solver"}}) {
    FakeWorld world;
    world.answers(answer_with(agent::JobRef{JobId(17)}));
    std::vector<std::string> args = {"submit", "--"};
    args.insert(args.end(), command.begin(), command.end());
    world.output_of(args);
    EXPECT_EQ(submitted(world).spec.name, wanted);
  }
}

agent::Response in_state(const std::string& state) {
  agent::JobDetail detail = sample_detail();
  detail.summary = sample_job(17, state);
  return answer_with(detail);
}

TEST(SubmitWait, AnInterruptLeavesTheJobUnlessAPersonWantsItGone) {
  FakeWorld script;
  script.interrupts_in = 3;
  script.answers_in_turn(
      {answer_with(agent::JobRef{JobId(17)}), in_state("running"), in_state("running")});
  EXPECT_EQ(script.run({"submit", "--wait", "--", "x"}), 130);
  EXPECT_NE(script.err().find("job 17 was left as it is"), std::string::npos);
  FakeWorld person;
  person.interrupts_in = 2;
  person.world().terminal.ask = [](const std::string&) {
    return std::optional<std::string>("cancel");
  };
  person.answers_in_turn({answer_with(agent::JobRef{JobId(17)}), in_state("running"),
                          answer_with(agent::JobRef{JobId(17)}), in_state("cancelled")});
  EXPECT_EQ(person.run({"submit", "--wait", "--", "x"}), 1);
  EXPECT_EQ(person.requests().at(2).verb, Verb::kCancel);
}

// ---- help to the hand ----

TEST(App, WhatElsewhereIsCalledOtherwiseIsFound) {
  for (const auto& [given, meant] :
       {std::pair{"ps", "jobs"}, std::pair{"nodes", "hosts"}, std::pair{"squeue", "jobs"}}) {
    FakeWorld world;
    EXPECT_EQ(world.run({given}), 2);
    EXPECT_NE(world.err().find("did you mean " + std::string(meant) + "?"), std::string::npos);
  }
}

TEST(Completion, KnowsEveryVerbAndAsksForWhatANodeKnows) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    FakeWorld world;
    const std::string script = world.output_of({"completion", shell});
    for (const char* word :
         {"submit", "drain", "help", "terms", "jobs --no-header", "hosts --no-header"}) {
      EXPECT_NE(script.find(word), std::string::npos) << shell << ": " << word;
    }
  }
  FakeWorld other;
  EXPECT_EQ(other.run({"completion", "csh"}), 2);
}

TEST(Manual, EveryVerbHasAPageOfItsOwnHelp) {
  FakeWorld world;
  std::istringstream names(world.output_of({"man", "--list"}));
  std::size_t count = 0;
  for (std::string name; std::getline(names, name); ++count) {
    FakeWorld one;
    const std::string page = one.output_of({"man", name});
    EXPECT_EQ(page.find(".TH MUSTER"), 0U) << name;
    EXPECT_NE(page.find("\n.SH NAME\nmuster"), std::string::npos) << name;
    const bool is_verb = name != "muster-json" && name != "muster-config" && name != "muster-terms";
    EXPECT_EQ(page.find("\\fB128+n\\fR\nended by signal n\n") != std::string::npos, is_verb)
        << name;
  }
  EXPECT_EQ(count, verb_words().size() + 4);
  FakeWorld drain;
  const std::string page = drain.output_of({"man", "hosts", "drain"});
  EXPECT_NE(page.find("muster\\-hosts\\-drain \\- Drain a host: no new job"), std::string::npos);
  EXPECT_NE(page.find(".TP\n\\fB\\-\\-deadline DURATION\\fR\n"), std::string::npos) << page;
  FakeWorld wrong;
  EXPECT_EQ(wrong.run({"man", "nothing"}), 6);
}

TEST(Manual, NoLineOfAPageIsARequestByAccident) {
  const std::string page = manual_page(
      {"Jobs", "x", "[OPTIONS]", ".dot \\ slash", {}, {{"--a", "'quote"}}, ".example", ".answer"},
      {});
  EXPECT_NE(page.find("\n\\&.dot \\e slash\n"), std::string::npos) << page;
  EXPECT_NE(page.find("\n\\&'quote\n"), std::string::npos) << page;
  EXPECT_NE(page.find("\n\\&.example\n"), std::string::npos) << page;
  EXPECT_NE(page.find("\n\\&.answer\n"), std::string::npos) << page;
}

}  // namespace
}  // namespace muster::cli

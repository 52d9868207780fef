// The output of each reading verb, for people and for programs, from fixed answers of a node.

#include <gtest/gtest.h>

#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/quorum.h"
#include "agent/api/request.h"
#include "tests/cli/kit/fake_world.h"
#include "tests/cli/kit/samples.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

TEST(Hosts, Table) {
  FakeWorld world;
  world.answers(answer_with(sample_hosts()));
  world.uses = sample_uses();
  EXPECT_EQ("\n" + world.output_of({"hosts"}), R"(
NAME  ID        STATE                SINCE  GPUS  USED  FREE  TYPE  RACK  ADDRESS        VOTER
a     61616161  alive                   1h     8     6     2  H100  r1    10.0.0.1:7450  leader
b     62626262  unreachable, silent     2h   7/8     8     0  H100  r1    10.0.0.1:7450  voter
c     63636363  alive                   1h     8     -     -  H100        10.0.0.1:7450
H100: 16 GPUs, 8 usable: 6 used, 2 free; withheld 8 unreachable (b)
)");
  EXPECT_EQ(world.err(), "");
}

TEST(Hosts, Json) {
  FakeWorld world;
  world.answers(answer_with(agent::HostList{{sample_hosts().hosts[1]}}));
  world.uses = sample_uses();
  EXPECT_EQ(
      world.output_of({"hosts", "--json"}),
      R"({"hosts":[{"host":"b","host_id":"62626262626262626262626262626262","state":"unreachable",)"
      R"("detail":"silent","since_ms":12345,"generation":2,"address":"10.0.0.1:7450",)"
      R"("rack":"r1","gpu_type":"H100","gpus":8,"gpus_healthy":7,"cpus":96,)"
      R"("memory_mib":1024,"is_voter":true,"is_leader":false,"version":"0.1.0",)"
      R"("claimed_by":["a","c"],"https":"10.0.0.1:7449","gpus_used":8,"gpus_free":0,)"
      R"("cpu_used_thousandths":0,"memory_used_mib":0,"job_ids":[7,9],"drain":null,)"
      R"("is_removed":false,"cluster_since_ms":7200000}],)"
      R"("storm":{"mode":"normal","since_ms":0,"reason":null},)"
      R"("seeds_unmet":[],"voter_notes":[],"answered_by":"a","age_ms":0})"
      "\n");
}

TEST(Hosts, SayOnTopWhatManySilentOnesLookLike) {
  FakeWorld world;
  agent::HostList list = sample_hosts();
  const std::string calm = [&] {
    FakeWorld other;
    other.answers(answer_with(list));
    return other.output_of({"hosts"});
  }();
  list.storm = {"partition_suspected", 42'000, "12 of 24 hosts suspect"};
  world.answers(answer_with(list));
  EXPECT_EQ(world.output_of({"hosts"}),
            "! partition_suspected for 42s: the network may be cut (12 of 24 hosts suspect).\n"
            "! No host is evicted for silence until a minute after the last sign of the storm.\n" +
                calm);
}

TEST(Hosts, AreReadPageByPage) {
  const std::vector<agent::HostInfo> hosts = sample_hosts().hosts;
  FakeWorld world;
  world.answers_in_turn({answer_with(agent::HostList{{hosts[2]}, hosts[1].id}),
                         answer_with(agent::HostList{{hosts[0], hosts[1]}, {}})});
  const std::string shown = world.output_of({"hosts"});
  FakeWorld at_once;
  at_once.answers(answer_with(sample_hosts()));
  EXPECT_EQ(shown, at_once.output_of({"hosts"}));
  ASSERT_EQ(world.requests().size(), 2U);
  const auto query = agent::decode_payload<agent::HostsQuery>(world.requests()[1].arguments);
  EXPECT_EQ(query->after, hosts[1].id);
}

TEST(Hosts, AnOldAnswerSaysSoOnStderr) {
  FakeWorld world;
  agent::Response response = answer_with(agent::JobList{});
  response.age_ms = 12'400;
  response.answered_by = "c";
  world.answers(response);
  world.output_of({"jobs"});
  EXPECT_EQ(world.err(), "answer is 12 s old: no quorum reachable from host c\n");
}

TEST(Hosts, RowsThatNothingConfirmedForLongAreCalledOld) {
  agent::Response response = answer_with(sample_hosts());
  response.answered_by = "c";
  FakeWorld cut_off;
  response.age_ms = 9'000;
  cut_off.answers(response);
  cut_off.output_of({"hosts"});
  EXPECT_EQ(cut_off.err(), "answer is 9 s old: nothing newer has reached host c\n");
  FakeWorld well;
  response.age_ms = 5'500;
  well.answers(response);
  well.output_of({"hosts"});
  EXPECT_EQ(well.err(), "");
}

TEST(Hosts, AQuestionGoesOnToTheNextNodeOfTheList) {
  FakeWorld world;
  world.dead = {"ipc:///a.sock"};
  world.answers(answer_with(sample_hosts()));
  world.output_of({"hosts", "--node", "/a.sock,/b.sock"});
  EXPECT_EQ(world.asked(), std::vector<std::string>{"ipc:///b.sock"});
}

TEST(Quorum, Table) {
  FakeWorld world;
  world.answers(answer_with(sample_quorum()));
  EXPECT_EQ(world.output_of({"quorum"}), R"(cluster    6b6b6b6b
leader     a (61616161)
answered   a (leader)
term       3
log        commit 120, applied 119
tolerates  1 failed voter

NAME  ID        STATE     VOTES  RACK  MATCH  BEHIND  CONTACT  WHY
a     61616161  leader    yes    -       120       0       0s  -
b     62626262  follower  yes    r2      118       2    210ms  joined later
)");
}

TEST(Quorum, ContactIsNotClaimedOfOneThatHasNotAnsweredThisLeader) {
  agent::QuorumInfo quorum = sample_quorum();
  quorum.voters[1].is_unheard = true;
  FakeWorld table;
  table.answers(answer_with(quorum));
  EXPECT_NE(table.output_of({"quorum"}).find("      2        -  joined later\n"), std::string::npos)
      << table.out();
  FakeWorld json;
  json.answers(answer_with(quorum));
  EXPECT_NE(json.output_of({"quorum", "--json"}).find(R"("contact_ms":null)"), std::string::npos);
}

agent::QuorumInfo no_quorum() {
  agent::QuorumInfo quorum;
  quorum.role = "none";
  return quorum;
}

TEST(Quorum, Json) {
  FakeWorld world;
  world.answers(answer_with(no_quorum()));
  EXPECT_EQ(world.output_of({"quorum", "--json"}),
            R"({"cluster":null,"role":"none","term":0,"leader":null,"leader_id":null,)"
            R"("commit_index":null,"applied_index":null,"tolerates":0,"voters_wanted":null,)"
            R"("epoch":0,"founders_wanted":0,"founders_met":0,"seeds_unmet":[],"voters":[],)"
            R"("answered_by":"a","age_ms":0})"
            "\n");
}

TEST(Quorum, NoneYetSaysWhatToDo) {
  FakeWorld world;
  world.answers(answer_with(no_quorum()));
  EXPECT_EQ(world.output_of({"quorum"}), "no quorum found yet\n");
}

TEST(Quorum, AClusterThatIsBeingBornSaysWhoIsMissing) {
  FakeWorld world;
  agent::QuorumInfo quorum = no_quorum();
  quorum.founders_wanted = 3;
  quorum.founders_met = 1;
  quorum.seeds_unmet = {{"10.0.0.2:7450", "refused"}, {"10.0.0.3:7450", "silent"}};
  world.answers(answer_with(quorum));
  EXPECT_EQ(world.output_of({"quorum"}),
            "the cluster is being founded: 1 of 3 founders are here: give the others\nthe ticket "
            "that `muster init` printed (muster join)\n! seed 10.0.0.2:7450 does not answer: "
            "refused\n! seed 10.0.0.3:7450 does not answer: silent\n");
}

TEST(Hosts, SeedsThatWereNeverMetStandAboveTheTable) {
  FakeWorld world;
  agent::HostList list = sample_hosts();
  list.seeds_unmet = {{"10.0.0.2:7450", "other cluster"}};
  world.answers(answer_with(list));
  EXPECT_TRUE(world.output_of({"hosts"}).starts_with(
      "! seed 10.0.0.2:7450 does not answer: other cluster\nNAME"));
}

TEST(Jobs, Table) {
  FakeWorld world;
  agent::JobSummary waiting = sample_job(18, "queued");
  waiting.hosts.clear();
  waiting.gpu_type = "";
  waiting.attempt = 0;
  waiting.name = "an evaluation with a very long name that nobody needs to read to its end";
  waiting.reason = "needs 16 GPUs, and the hosts that are up have 8";
  waiting.age_ms = 300'000;
  agent::JobSummary running = sample_job(17, "running");
  running.age_ms = 7'200'000;
  running.run_ms = 3'600'000;
  world.answers(answer_with(agent::JobList{{running, waiting}, JobId()}));
  EXPECT_EQ(world.output_of({"jobs"}),
            R"(ID  NAME                  USER  STATE    GPUS     HOSTS  AGE  TIME  REASON
17  llama                 ann   running  16xH100  a,b     2h    1h
18  an evaluation with ~  ann   queued   16               5m     -  needs 16 GPUs, and the hosts th~
)");
}

TEST(Jobs, Json) {
  FakeWorld world;
  world.answers(answer_with(agent::JobList{{sample_job(17, "running")}, JobId()}));
  EXPECT_EQ(world.output_of({"jobs", "--json"}),
            R"({"jobs":[{"job_id":17,"name":"llama","user":"ann","state":"running","gpus":16,)"
            R"("ranks":null,"gpu_type":"H100","attempt":1,"priority":0,"queue":null,"tier":null,)"
            R"("exit_code":null,)"
            R"("cause":"all ranks ready","hosts":["a","b"],"is_doubtful":false,"reason":null,)"
            R"("submit_unix_ms":null,"start_unix_ms":null,"end_unix_ms":null,)"
            R"("after":[],"begin_unix_ms":null,"deadline_unix_ms":null,"age_ms":null,)"
            R"("run_ms":null,"gpu_ms":0,"tasks":null}],"hidden_jobs":0,"gpus_of_other_teams":0,)"
            R"("answered_by":"a","age_ms":0})"
            "\n");
}

TEST(Jobs, JsonHasNullWhereNothingIs) {
  FakeWorld world;
  agent::JobSummary ended = sample_job(18, "failed");
  ended.gpus = 0;
  ended.gpu_type = "";
  ended.ranks = 3;
  ended.exit_code = 4;
  world.answers(answer_with(agent::JobList{{ended}, JobId()}));
  const std::string out = world.output_of({"jobs", "--json", "--all"});
  EXPECT_NE(out.find(R"("gpus":0,"ranks":3,"gpu_type":null)"), std::string::npos) << out;
  EXPECT_NE(out.find(R"("exit_code":4)"), std::string::npos) << out;
}

TEST(Jobs, ANumberThatIsNoneExitsAsShowDoes) {
  const agent::JobList list{{sample_job(17, "running"), sample_job(18, "failed")}, JobId()};
  FakeWorld none;
  none.answers(answer_with(list));
  EXPECT_EQ(none.run({"jobs", "999"}), 6);
  EXPECT_EQ(none.out(), "");
  EXPECT_EQ(none.err(), "muster: there is no job 999; `muster jobs --all` lists them\n");
  FakeWorld some;
  some.answers(answer_with(list));
  EXPECT_EQ(some.run({"jobs", "17", "999", "--no-header", "-o", "id"}), 6);
  EXPECT_EQ(some.out(), "17\n");
  FakeWorld filtered;
  filtered.answers(answer_with(list));
  EXPECT_EQ(filtered.run({"jobs", "17", "--state", "failed", "--no-header"}), 0)
      << "it is there, and of another state";
}

TEST(Jobs, OnlyTheLast20EndedOnesAreShownUnlessAllAreWanted) {
  agent::JobList list;
  list.jobs.push_back(sample_job(1, "running"));
  for (std::uint64_t id = 2; id < 27; ++id) {
    list.jobs.push_back(sample_job(id, "completed"));
  }
  FakeWorld some;
  some.answers(answer_with(list));
  const std::string shown = some.output_of({"jobs"});
  EXPECT_EQ(std::count(shown.begin(), shown.end(), '\n'), 22);
  EXPECT_NE(shown.find("\n 1  llama"), std::string::npos);
  EXPECT_EQ(shown.find("\n 6  llama"), std::string::npos);
  EXPECT_EQ(some.err(), "muster: 5 older ended jobs not shown (--all, --limit N)\n");

  FakeWorld all;
  all.answers(answer_with(list));
  const std::string everything = all.output_of({"jobs", "--all"});
  EXPECT_EQ(std::count(everything.begin(), everything.end(), '\n'), 27);
}

TEST(Jobs, ALimitShowsTheNewestAndMoreThan20Ended) {
  agent::JobList list;
  for (std::uint64_t id = 1; id <= 40; ++id) {
    list.jobs.push_back(sample_job(id, "completed"));
  }
  FakeWorld world;
  world.answers(answer_with(list));
  const std::string newest = world.output_of({"jobs", "--limit", "30", "--no-header"});
  EXPECT_EQ(std::count(newest.begin(), newest.end(), '\n'), 30);
  EXPECT_EQ(newest.substr(0, 3), "11 ");
  FakeWorld sorted;
  sorted.answers(answer_with(list));
  EXPECT_EQ(sorted.output_of({"jobs", "--limit", "2", "--sort", "id", "--no-header", "-o", "id"}),
            " 1\n 2\n");
  EXPECT_EQ(sorted.err(), "muster: 38 more jobs not shown (--all, --limit N)\n");
}

TEST(Jobs, AllPagesAreAskedFor) {
  agent::JobList first{{sample_job(1, "running"), sample_job(2, "queued")}, JobId(2)};
  const agent::JobList last{{sample_job(3, "failed")}, JobId()};
  FakeWorld world;
  world.answers_in_turn({answer_with(first), answer_with(last)});
  const std::string shown = world.output_of({"jobs", "--json"});
  for (const char* id : {R"("job_id":1)", R"("job_id":2)", R"("job_id":3)"}) {
    EXPECT_NE(shown.find(id), std::string::npos) << shown;
  }
  ASSERT_EQ(world.requests().size(), 2U);
  const auto asked = [&](std::size_t index) {
    return agent::decode_payload<agent::JobsQuery>(world.requests()[index].arguments)->after;
  };
  EXPECT_EQ(asked(0), JobId());
  EXPECT_EQ(asked(1), JobId(2));
}

TEST(Jobs, APageThatLeadsNowhereIsTheLast) {
  FakeWorld world;
  const agent::JobList odd{{sample_job(1, "running")}, JobId(5)};
  world.answers_in_turn({answer_with(odd), answer_with(odd)});
  world.output_of({"jobs"});
  EXPECT_EQ(world.requests().size(), 2U);
}

TEST(Jobs, StatesFilter) {
  FakeWorld world;
  world.answers(answer_with(agent::JobList{
      {sample_job(1, "running"), sample_job(2, "queued"), sample_job(3, "failed")}, JobId()}));
  const std::string shown = world.output_of({"jobs", "--state", "queued,failed"});
  EXPECT_EQ(shown.find("running"), std::string::npos);
  EXPECT_NE(shown.find("queued"), std::string::npos);
  EXPECT_NE(shown.find("failed"), std::string::npos);
}

TEST(Show, Text) {
  FakeWorld world;
  world.answers(answer_with(sample_detail()));
  EXPECT_EQ(world.output_of({"show", "17"}), R"(job        17 llama
state      running: all ranks ready
user       ann
gpus       2 x H100
priority   0
hosts      a, b
command    python train.py --note 'it'\''s fine'
directory  /home/ann
env        EPOCHS=3
retries    2
isolation  default (10m over several hosts, 2m on one)
grace      10s
patience   5s, then requeue
limit      none
output     kept 14d after the end, up to 4G or 200000 files on a host (set on a)

attempt 1 (token 0.41) started: all ranks ready
RANK  HOST  GPU    MEMBER  RESULT   DETAIL
   0  a     GPU-1  ready   running
   1  b     GPU-2  ready   lost     host silent

LOG  WHEN   STATE    CAUSE
 40  +0     queued   submitted
 43  +1.5s  running  all ranks ready
)");
}

TEST(Show, NamesForgeNoLines) {
  FakeWorld world;
  agent::JobDetail detail = sample_detail();
  detail.summary.name = "x\nstate      failed: disk lost";
  detail.spec.command.argv = {"echo", "a\nstate      failed"};
  world.answers(answer_with(detail));
  const std::string out = world.output_of({"show", "17"});
  std::size_t states = 0;
  for (std::size_t at = out.find("\nstate "); at != std::string::npos;
       at = out.find("\nstate ", at + 1)) {
    ++states;
  }
  EXPECT_EQ(states, 1U) << out;
}

TEST(Show, OfAnArrayCountsAndNamesWhatFailed) {
  FakeWorld world;
  agent::JobDetail detail;
  detail.summary = sample_job(7, "running");
  detail.summary.tasks = 10;
  detail.summary.tasks_running = 2;
  detail.summary.tasks_failed = 3;
  detail.spec.command.argv = {"x"};
  detail.spec.array = scheduler::range_of({0, 2, 4, 6, 8, 10, 12, 14, 16, 18});
  detail.array.waiting = 4;
  detail.array.queued = 1;
  detail.array.failures = {{task_id(JobId(7), 4), 3, "rank 0 exited 3", {"a", "b"}}};
  detail.array.failures_more = 2;
  world.answers(answer_with(detail));
  const std::string out = world.output_of({"show", "7"});
  EXPECT_NE(out.find("tasks      0-18:2; `muster jobs --tasks 7` lists those that began\n"
                     "now        2 running, 1 queued, 4 waiting for their turn, 3 failed\n"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find("FAILED  EXIT  HOSTS  CAUSE\n"
                     "7.4        3  a,b    rank 0 exited 3\n"
                     "2 more failed; `muster jobs --tasks 7 --state failed` lists what is still "
                     "kept\n`muster logs 7.4` shows what one wrote\n"),
            std::string::npos)
      << out;
  FakeWorld json;
  json.answers(answer_with(detail));
  EXPECT_NE(
      json.output_of({"show", "7", "--json"})
          .find(R"("array":{"first":0,"last":18,"runs":[{"first":0,"last":18,"step":2}],)"
                R"("at_once":null,"waiting":4,"queued":1,"suspended":0,"failures":[{"task":"7.4",)"
                R"("exit_code":3,"reason":"rank 0 exited 3","hosts":["a","b"]}],)"
                R"("failures_more":2})"),
      std::string::npos);
}

TEST(Show, Json) {
  FakeWorld world;
  agent::JobDetail detail = sample_detail();
  detail.attempts[0].members.pop_back();
  detail.transitions.pop_back();
  world.answers(answer_with(detail));
  EXPECT_EQ(
      world.output_of({"show", "17", "--json"}),
      R"({"job":{"job_id":17,"name":"llama","user":"ann","state":"running","gpus":2,"ranks":null,)"
      R"("gpu_type":"H100","attempt":1,"priority":0,"queue":null,"tier":null,)"
      R"("exit_code":null,)"
      R"("cause":"all ranks ready","hosts":["a","b"],"is_doubtful":false,"reason":null,)"
      R"("submit_unix_ms":null,"start_unix_ms":null,"end_unix_ms":null,)"
      R"("after":[],"begin_unix_ms":null,"deadline_unix_ms":null,"age_ms":null,)"
      R"("run_ms":null,"gpu_ms":0,"tasks":null},)"
      R"("spec":{"request":{"gpus":2,"gpus_per_host":null,"ranks":null,"ranks_per_host":null,)"
      R"("cpu_thousandths":null,"memory_mib":null,"gpu_types":["H100"],"labels":[],)"
      R"("not_labels":[],"hosts":[],"not_hosts":[],"pack":"any","pack_wait_ms":null},)"
      R"("argv":["python","train.py","--note","it's fine"],"argv_base64":null,)"
      R"("environment":["EPOCHS=3"],"environment_base64":null,)"
      R"("directory":"/home/ann","directory_base64":null,"team":null,)"
      R"("is_held":false,"retries":2,)"
      R"("isolation_ms":null,"keep_when_isolated":false,"grace_ms":10000,"patience_ms":5000,)"
      R"("on_lost_host":"requeue","time_limit_ms":null,"shell":{"umask":"0022",)"
      R"("open_files":1024,"stack_bytes":8388608,"core_bytes":0}},)"
      R"("is_private":false,"attempts":[{"attempt":1,"token":"0.41","state":"started",)"
      R"("cause":"all ranks ready","members":[)"
      R"({"host_id":"61616161616161616161616161616161","host":"a","first_rank":0,)"
      R"("gpu_uuids":["GPU-1"],"cpu_thousandths":0,"memory_mib":0,"state":"ready","rank_list":[)"
      R"({"rank":0,"state":"running","detail":null,"output_bytes":0,"lost_bytes":0,)"
      R"("surplus_bytes":0}],)"
      R"("host_state":null,"host_detail":null,"host_since_ms":null}],"members_left_out":0}],)"
      R"("transitions":[{"index":40,"cluster_ms":5000,"unix_ms":null,"state":"queued",)"
      R"("cause":"submitted"}],"array":null,"output":{"kept_ms":1209600000,)"
      R"("kept_bytes":4294967296,"kept_files":200000},)"
      R"("answered_by":"a","age_ms":0})"
      "\n");
}

TEST(Show, SaysHowManyHostsTheAnswerHasNoRoomFor) {
  agent::JobDetail detail = sample_detail();
  detail.attempts[0].members_left_out = 4'000;
  FakeWorld world;
  world.answers(answer_with(detail));
  EXPECT_NE(world.output_of({"show", "17"}).find("and 4000 more hosts that the answer has no room"),
            std::string::npos);
}

TEST(Show, SaysWhichHostDoesNotAnswer) {
  agent::JobDetail detail = sample_detail();
  agent::MemberInfo& first = detail.attempts[0].members[0];
  first.host_state = "alive";
  first.host_since_ms = 90'000;
  agent::MemberInfo& second = detail.attempts[0].members[1];
  second.state = "running";
  second.host_state = "unreachable";
  second.host_detail = "silent";
  second.host_since_ms = 12'345;
  FakeWorld text;
  text.answers(answer_with(detail));
  const std::string shown = text.output_of({"show", "17"});
  EXPECT_NE(shown.find("running: all ranks ready (host b silent 12s)\n"), std::string::npos)
      << shown;
  EXPECT_NE(shown.find("running, silent 12s"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("(host a"), std::string::npos) << shown;
  FakeWorld json;
  json.answers(answer_with(detail));
  EXPECT_NE(json.output_of({"show", "17", "--json"})
                .find(R"("host_state":"unreachable","host_detail":"silent","host_since_ms":12345)"),
            std::string::npos);
}

TEST(Show, AMemberThatIsOverIsNotMissed) {
  agent::JobDetail detail = sample_detail();
  detail.attempts[0].members[1].state = "finished";
  detail.attempts[0].members[1].host_state = "unreachable";
  FakeWorld world;
  world.answers(answer_with(detail));
  EXPECT_EQ(world.output_of({"show", "17"}).find("unreachable"), std::string::npos);
}

TEST(Why, Text) {
  FakeWorld world;
  world.answers(answer_with(sample_why()));
  EXPECT_EQ(world.output_of({"why", "18"}), R"(job 18 is queued: 16 x H100 are wanted and 6 are free
gpus     16 wanted, 6 free, 10 lacking
hosts    1 could hold a part of it; 3: too few GPUs free; 1: host unreachable
largest  4 in one island, 6 in total
withheld 8 (host suspect), 2 (quarantined)
left out d: refused it or answered late
starts   now, if job 12 ended
fits     with 6 GPUs it would start now

HOLDER  NAME   GPUS  CPUS  HOSTS
    12  eval      8    96  a
    13  llama     8   0.5  b,c
)");
}

TEST(Why, HoldersThatAreNotListedAreCounted) {
  agent::WhyInfo why = sample_why();
  why.holders_more = 9'999;
  FakeWorld world;
  world.answers(answer_with(why));
  EXPECT_NE(world.output_of({"why", "18"}).find("b,c\nand 9999 more, none with"),
            std::string::npos);
}

TEST(Why, Json) {
  FakeWorld world;
  world.answers(answer_with(sample_why()));
  EXPECT_EQ(
      world.output_of({"why", "18", "--json"}),
      R"({"job_id":18,"state":"queued","headline":"16 x H100 are wanted and 6 are free",)"
      R"("wanted":16,"free":6,"lacking":10,"ahead":[],)"
      R"("holders":[{"job_id":12,"name":"eval","gpus":8,"cpu_thousandths":96000,"hosts":["a"]},)"
      R"({"job_id":13,"name":"llama","gpus":8,"cpu_thousandths":500,"hosts":["b","c"]}],)"
      R"("would_start":[12],"fits_now":6,"ahead_count":0,"left_out":["d"],)"
      R"("withheld":[{"reason":"host suspect","gpus":8},{"reason":"quarantined","gpus":2}],)"
      R"("awaits_hosts":false,"holders_more":0,"has_gpus":true,"open_host_count":1,)"
      R"("filters":[{"reason":"too few GPUs free","host_count":3},)"
      R"({"reason":"host unreachable","host_count":1}],"largest":[{"within":"island","units":4},)"
      R"({"within":"any","units":6}],"would_fit_with":[],)"
      R"("queue":null,"tier":null,"full_queue":null,"full_text":null,"others_wait":0,)"
      R"("turn":null,"after":[],"begin_unix_ms":null,"deadline_unix_ms":null,)"
      R"("storm":{"mode":"normal","since_ms":0,"reason":null},)"
      R"("answered_by":"a","age_ms":0})"
      "\n");
}

TEST(Why, BehindOthersNothingWouldStartItNow) {
  agent::WhyInfo why = sample_why();
  why.ahead = {JobId(15), JobId(16)};
  why.ahead_count = 30;
  why.holders.clear();
  FakeWorld world;
  world.answers(answer_with(why));
  EXPECT_EQ(world.output_of({"why", "18"}), R"(job 18 is queued: 16 x H100 are wanted and 6 are free
gpus     16 wanted, 6 free, 10 lacking
hosts    1 could hold a part of it; 3: too few GPUs free; 1: host unreachable
largest  4 in one island, 6 in total
withheld 8 (host suspect), 2 (quarantined)
left out d: refused it or answered late
ahead    jobs 15, 16 and 28 more
turn     comes once the 30 jobs ahead of it have started
)");
  why.ahead_count = 0;  // From an older node.
  why.ahead = {JobId(15)};
  FakeWorld older;
  older.answers(answer_with(why));
  const std::string turn = "turn     comes once the job ahead of it has started\n";
  EXPECT_NE(older.output_of({"why", "18"}).find("ahead    job 15\n" + turn), std::string::npos);
}

TEST(Why, AJobThatTheNodeHasNotHeardOfIsAskedOfTheLeader) {
  FakeWorld world;
  world.answers_in_turn(
      {refusal(ResponseStatus::kNotFound, "there is no job 17"), answer_with(agent::WhyInfo())});
  EXPECT_EQ(world.run({"why", "17"}), 0);
  ASSERT_EQ(world.requests().size(), 2U);
  EXPECT_FALSE(world.requests()[0].consistent);
  EXPECT_TRUE(world.requests()[1].consistent);

  FakeWorld unsure;
  unsure.answers_in_turn({refusal(ResponseStatus::kNotFound, "there is no job 17"),
                          refusal(ResponseStatus::kNoQuorum, "no leader")});
  EXPECT_EQ(unsure.run({"why", "17"}), 6);
}

}  // namespace
}  // namespace muster::cli

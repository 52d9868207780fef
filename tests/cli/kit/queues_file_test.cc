// Goal: a file of queues that cannot be meant is refused with its line; the text of a tree is read
// back to the same tree; the lines about a change name everything that changes, and nothing else.

#include "cli/kit/queues_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/edge/queues_toml.h"
#include "cli/kit/queue_words.h"
#include "gossip/base/rng.h"

namespace muster::cli {
namespace {

using scheduler::QueueNode;
using scheduler::QueueTree;
using scheduler::Tier;
using std::chrono::hours;

constexpr char kQueuesToml[] = R"(
half-life = "3d"
[queue."research/nlp"]
guaranteed = { H100 = 64, gpus = 96 }
max        = { h100 = 256 }
tiers      = ["standard", "premium", "batch"]
members    = ["anna", "@nlp"]
users      = "fifo"
time-limit-max = "7d"
max-pending = 1000000
[queue.research]
weight = 4
time-limit-max = "none"
)";

QueueTree tree_in(std::string_view text) {
  auto tree = parse_queues_file(text, "f.toml");
  EXPECT_TRUE(tree) << (tree ? "" : tree.error().text) << "\n" << text;
  return tree ? *tree : QueueTree();
}

QueueNode node(const std::string& path) {
  QueueNode made;
  made.path = path;
  return made;
}

TEST(QueuesFile, HasEveryKeyAndOrdersTheQueues) {
  QueueNode research = node("research");
  research.weight = 4;
  research.time_limit_max = scheduler::kNoTimeLimit;
  QueueNode nlp = node("research/nlp");
  nlp.guaranteed = {{"h100", 64}, {"gpus", 96}};
  nlp.max = {{"h100", 256}};
  nlp.tiers = {Tier::kStandard, Tier::kPremium, Tier::kBatch};
  nlp.members = {"anna", "@nlp"};
  nlp.is_fifo = true;
  nlp.time_limit_max = hours(24 * 7);
  nlp.max_pending = 1'000'000;
  EXPECT_EQ(tree_in(kQueuesToml), (QueueTree{hours(72), {research, nlp}}));
  EXPECT_EQ(tree_in(""), QueueTree());
  EXPECT_EQ(tree_in("[queue.a]\nusers = \"fair\"\n"), (QueueTree{hours(168), {node("a")}}));
}

TEST(QueuesFile, IsRefusedWithTheLineThatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"[queue.a]\nwieght = 4\n",
       "f.toml:2: unknown key 'wieght' of queue a; did you mean weight?"},
      {"[queue.a]\n\nlend = false\n",
       "f.toml:3: unknown key 'lend' of queue a; the keys are: weight, guaranteed, max, tiers, "
       "members, users, time-limit-max, max-pending"},
      {"[queue.a]\nmax-pendign = 3\n",
       "f.toml:2: unknown key 'max-pendign' of queue a; did you mean max-pending?"},
      {"[queue.a]\nmax-pending = 0\n", "f.toml:2: 'max-pending' must be a whole number from 1 to"},
      {"[queue.a]\nmax-pending = -1\n", "f.toml:2: 'max-pending' must be a whole number from 1"},
      {"[queue.a]\nmax-pending = 1000001\n",
       "f.toml:2: 'max-pending' must be a whole number from 1 to 1000000"},
      {"[queue.a]\nmax-pending = \"none\"\n", "f.toml:2: 'max-pending' must be a whole number"},
      {"halflife = \"7d\"\n", "f.toml:1: unknown key 'halflife'; did you mean half-life?"},
      {"[queues.a]\n", "f.toml:1: unknown key 'queues'; did you mean queue?"},
      {"[queue.a.b]\n",
       "f.toml:1: unknown key 'b' of queue a; a queue below it is [queue.\"a/b\"]"},
      {"[queue.a]\n[queue.a]\n", "f.toml:2: "},
      {"[queue.a]\nweight = 1\nweight = 2\n", "f.toml:3: "},
      {"queue = 3\n", "f.toml:1: 'queue' must be a table for each queue"},
      {"[queue]\na = 3\n", "f.toml:2: 'a' must be a table"},
      {"[queue.a]\nweight = 0\n", "f.toml:2: 'weight' must be a whole number from 1 to 1000"},
      {"[queue.a]\nweight = -4\n", "f.toml:2: 'weight' must be a whole number from 1 to 1000"},
      {"[queue.a]\nweight = 1001\n", "f.toml:2: 'weight' must be a whole number from 1 to 1000"},
      {"[queue.a]\nweight = 1.5\n", "f.toml:2: 'weight' must be a whole number from 1 to 1000"},
      {"[queue.a]\nweight = \"4\"\n", "f.toml:2: 'weight' must be a whole number from 1 to 1000"},
      {"[queue.a]\nweight = 99999999999999999999\n", "f.toml:2: "},
      {"[queue.a]\nmax = 64\n", "f.toml:2: 'max' must be amounts by GPU type: max = { h100 = 64 }"},
      {"[queue.a]\nmax = { h100 = -1 }\n",
       "f.toml:2: 'h100' of 'max' must be a whole number from 0 to 10000000"},
      {"[queue.a]\nmax = { h100 = 10000001 }\n",
       "f.toml:2: 'h100' of 'max' must be a whole number"},
      {"[queue.a]\nguaranteed = { gpus = true }\n", "f.toml:2: 'gpus' of 'guaranteed' must be"},
      {"[queue.a]\nmax = { h100 = 1, H100 = 2 }\n", "f.toml:2: "},
      {"[queue.a]\ntiers = \"batch\"\n", "f.toml:2: 'tiers' must be a list of strings"},
      {"[queue.a]\ntiers = [7]\n", "f.toml:2: 'tiers' must be a string"},
      {"[queue.a]\ntiers = []\n", "f.toml:2: 'tiers' is empty: leave it out"},
      {"[queue.a]\ntiers = [\"standrad\"]\n",
       "f.toml:2: 'standrad' is not a tier; did you mean standard?"},
      {"[queue.a]\ntiers = [\"\"]\n", "f.toml:2: 'tiers' has an empty name in it"},
      {"[queue.a]\ntiers = [\"batch\", \"batch\"]\n", "f.toml:2: 'batch' is twice in 'tiers'"},
      {"[queue.a]\nmembers = []\n", "f.toml:2: 'members' is empty: leave it out"},
      {"[queue.a]\nmembers = [\"@\"]\n", "f.toml:2: 'members' has an empty name in it"},
      {"[queue.a]\nmembers = [\"x\", \"x\"]\n", "f.toml:2: 'x' is twice in 'members'"},
      {"[queue.a]\nusers = \"lifo\"\n", "f.toml:2: 'users' must be fair or fifo"},
      {"[queue.a]\nusers = 1\n", "f.toml:2: 'users' must be a string"},
      {"[queue.a]\ntime-limit-max = \"soon\"\n", "f.toml:2: 'time-limit-max': 'soon' is not a dur"},
      {"[queue.a]\ntime-limit-max = \"0\"\n", "f.toml:2: 'time-limit-max' must be longer than 0"},
      {"[queue.a]\ntime-limit-max = \"366d\"\n", "f.toml:2: 'time-limit-max': '366d' is longer"},
      {"half-life = \"59m\"\n", "f.toml:1: 'half-life' must be from 1h to 365d"},
      {"half-life = 7\n", "f.toml:1: 'half-life' must be a string"},
      {"\n[queue.\"a//b\"]\n", "f.toml:2: not a valid path of a queue"},
      {"[queue.\"\"]\n", "f.toml:1: not a valid path of a queue"},
      {"[queue.\"../a\"]\n", "f.toml:1: not a valid path of a queue"},
      {"[queue.a\n", "f.toml:"},
      // The rest is found in the tree as a whole, and names the queue.
      {"[queue.a]\nguaranteed = { h100 = 1 }\n[queue.\"a/b\"]\nguaranteed = { h100 = 2 }\n",
       "f.toml: queue a: "},
      {"[queue.a]\nmax = { h100 = 1 }\nguaranteed = { h100 = 2 }\n", "f.toml: queue a: "},
  };
  for (const auto& [text, why] : cases) {
    const auto tree = parse_queues_file(text, "f.toml");
    ASSERT_FALSE(tree) << text;
    EXPECT_TRUE(tree.error().text.starts_with(why)) << text << tree.error().text;
  }
}

/// A valid tree: guarantees of leaves alone, and no max of a type that is guaranteed.
QueueTree drawn_tree(Rng& rng) {
  const std::vector<std::string> names = {"a", "b", "c-1", "d.2", "E_3"};
  const std::vector<std::string> members = {"anna", "@nlp",        "dr who",
                                            "a\"b", "back\\slash", "@x.y"};
  QueueTree tree;
  tree.half_life = hours(1 + rng.below(300));
  const std::uint64_t count = rng.below(12);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string path;
    for (std::uint64_t depth = 1 + rng.below(3); depth > 0; --depth) {
      path += (path.empty() ? "" : "/") + names[rng.below(names.size())];
    }
    QueueNode& queue = node_at(tree, path);
    queue.weight = static_cast<std::uint32_t>(1 + rng.below(1000));
    queue.is_fifo = rng.below(2) == 0;
    queue.max = {{"gpus", scheduler::kQueueAmountMax}};
    if (rng.below(2) == 0) {
      queue.max["a100-80gb.v2"] = rng.below(100);
    }
    queue.tiers.clear();
    for (unsigned tier = 1; tier <= static_cast<unsigned>(scheduler::kTierLast); ++tier) {
      if (rng.below(3) == 0) {
        queue.tiers.push_back(static_cast<Tier>(tier));
      }
    }
    queue.members.assign(members.begin(),
                         members.begin() + static_cast<std::ptrdiff_t>(rng.below(members.size())));
    queue.time_limit_max =
        rng.below(3) == 0 ? std::nullopt
        : rng.below(2) == 0
            ? std::optional(scheduler::kNoTimeLimit)
            : std::optional<Duration>(std::chrono::milliseconds(1 + rng.below(100'000'000)));
    queue.max_pending = rng.below(2) * (1 + rng.below(scheduler::kQueuePendingMax));
  }
  for (QueueNode& queue : tree.nodes) {
    const auto below =
        std::count_if(tree.nodes.begin(), tree.nodes.end(),
                      [&](const QueueNode& each) { return is_within(each.path, queue.path); });
    if (below == 1) {
      queue.guaranteed = {{"h100", rng.below(100)}, {"cpus", rng.below(100)}};
    }
  }
  return tree;
}

TEST(QueuesFile, AnExportIsReadBackToTheSameTree) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    const QueueTree tree = drawn_tree(rng);
    ASSERT_TRUE(scheduler::validate(tree)) << "seed " << seed << "\n" << toml_of(tree);
    const auto back = parse_queues_file(toml_of(tree), "f.toml");
    ASSERT_TRUE(back) << "seed " << seed << ": " << back.error().text << "\n" << toml_of(tree);
    ASSERT_EQ(*back, tree) << "seed " << seed << "\n" << toml_of(tree);
    EXPECT_TRUE(differences(tree, *back).empty());
  }
}

TEST(QueuesFile, ATreeIsTheOtherOneIfAndOnlyIfThereIsNoLine) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    const QueueTree one = drawn_tree(rng);
    const QueueTree other = drawn_tree(rng);
    EXPECT_EQ(differences(one, other).empty(), one == other) << "seed " << seed;
    const auto there = differences(one, other);
    const auto back = differences(other, one);
    EXPECT_EQ(there.size(), back.size()) << "seed " << seed;
    EXPECT_EQ(std::count_if(there.begin(), there.end(),
                            [](const std::string& line) { return line.ends_with(": removed"); }),
              std::count_if(back.begin(), back.end(),
                            [](const std::string& line) {
                              return line.find(": added") != std::string::npos;
                            }))
        << "seed " << seed;
  }
}

TEST(QueuesFile, DifferencesSayWhatIsAndWhatWas) {
  const QueueTree now = tree_in(kQueuesToml);
  const QueueTree next = tree_in(R"(
[queue.ads]
weight = 2
[queue.prod]
[queue."research/nlp"]
guaranteed = { h100 = 64, gpus = 96 }
max        = { h100 = 128, cpus = 4 }
tiers      = ["standard", "premium", "batch"]
)");
  EXPECT_EQ(differences(now, next),
            (std::vector<std::string>{
                "half-life 7d (was 3d)",
                "queue ads: added; weight 2",
                "queue prod: added",
                "queue research: removed",
                "queue research/nlp: max 128 H100, 4 CPUs (was 256 H100); members those of its "
                "parent (was anna, @nlp); users fair (was fifo); time-limit-max that of its parent "
                "(was 7d); max-pending none (was 1000000)",
            }));
  EXPECT_TRUE(differences(now, now).empty());
}

TEST(QueueTreeChanges, KeysAreSetAndTakenAway) {
  QueueNode queue = node("a");
  for (const char* key :
       {"weight=4", "guaranteed.H100=64", "max.gpus=96", "max.a100.80gb=8", "tiers=batch,standard",
        "members=anna,@nlp", "users=fifo", "time-limit-max=7d", "max-pending=3"}) {
    EXPECT_TRUE(set_key(queue, key)) << key;
  }
  QueueNode wanted = node("a");
  wanted.weight = 4;
  wanted.guaranteed = {{"h100", 64}};
  wanted.max = {{"gpus", 96}, {"a100.80gb", 8}};
  wanted.tiers = {Tier::kBatch, Tier::kStandard};
  wanted.members = {"anna", "@nlp"};
  wanted.is_fifo = true;
  wanted.time_limit_max = hours(24 * 7);
  wanted.max_pending = 3;
  EXPECT_EQ(queue, wanted);
  EXPECT_TRUE(set_key(queue, "time-limit-max=none"));
  EXPECT_EQ(queue.time_limit_max, scheduler::kNoTimeLimit);
  for (const char* key : {"weight=", "guaranteed.h100=", "max.gpus=", "max.a100.80gb=", "tiers=",
                          "members=", "users=", "time-limit-max=", "max-pending="}) {
    EXPECT_TRUE(set_key(queue, key)) << key;
  }
  EXPECT_EQ(queue, node("a"));
}

TEST(QueueTreeChanges, KeysThatCannotBeMeantAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"weight", "'weight' is not KEY=VALUE"},
      {"wieght=4", "unknown key 'wieght'; did you mean weight?"},
      {"weight=four", "'weight' must be a whole number"},
      {"weight=0", "'weight' must be a whole number"},
      {"max=4", "'max' needs a GPU type, gpus or cpus: write max.h100=64"},
      {"guaranteed.=4", "'guaranteed' needs a GPU type"},
      {"max.h100=-1", "'h100' of 'max' must be a whole number"},
      {"max.h100=x", "'h100' of 'max' must be a whole number"},
      {"tiers=gold", "'gold' is not a tier"},
      {"tiers=batch,", "'tiers' has an empty name"},
      {"members=a,a", "'a' is twice"},
      {"users=all", "'users' must be fair or fifo"},
      {"time-limit-max=7", "'time-limit-max': '7' is not a duration"},
      {"lend=no", "unknown key 'lend'; the keys are"},
      {"max-pending=0", "'max-pending' must be a whole number from 1 to 1000000"},
      {"max-pending=many", "'max-pending' must be a whole number"},
  };
  for (const auto& [given, why] : cases) {
    QueueNode queue = node("a");
    const Status status = set_key(queue, given);
    ASSERT_FALSE(status) << given;
    EXPECT_TRUE(status.error().text.starts_with(why)) << given << ": " << status.error().text;
    EXPECT_EQ(queue, node("a")) << given;
  }
}

TEST(QueueTreeChanges, QueuesAreAddedAtTheirPlaceAndRemovedWithThoseBelow) {
  QueueTree tree;
  for (const char* path : {"b", "a/c", "a-1", "a", "a/c/d", "ab"}) {
    node_at(tree, path).weight = 7;
  }
  EXPECT_TRUE(scheduler::validate(tree));
  EXPECT_EQ(node_at(tree, "a/c").weight, 7U) << "it was there";
  EXPECT_EQ(tree.nodes.size(), 6U);
  EXPECT_EQ(find_node(tree, "a/b"), nullptr);
  EXPECT_EQ(find_node(tree, "a/c")->path, "a/c");
  EXPECT_FALSE(remove_queue(tree, "c"));
  EXPECT_TRUE(remove_queue(tree, "a"));
  ASSERT_EQ(tree.nodes.size(), 3U);
  EXPECT_EQ(find_node(tree, "a/c"), nullptr);
  EXPECT_NE(find_node(tree, "ab"), nullptr);
  EXPECT_NE(find_node(tree, "a-1"), nullptr);
}

TEST(QueueTreeChanges, EveryQueueHasAPathAndOthersHaveANeighbour) {
  QueueTree tree;
  node_at(tree, "research/nlp");
  const std::vector<std::string> paths = paths_of(tree);
  EXPECT_EQ(paths, (std::vector<std::string>{"default", "research", "research/nlp"}));
  EXPECT_NE(no_queue_text("reserach", paths).find("did you mean research?"), std::string::npos);
  EXPECT_NE(no_queue_text("nlp", paths).find("did you mean research/nlp?"), std::string::npos);
  EXPECT_EQ(no_queue_text("vision", paths), "there is no queue vision: `muster queue` lists them");
}

TEST(QueueTreeChanges, WarningsNameWhatIsPerhapsNotMeant) {
  agent::UserList users;
  users.teams = {{"default", 0, 0}, {"nlp", 0, 2}, {"empty", 0, 0}};
  users.users = {{"anna", "user", {"nlp"}}};
  const scheduler::QueueAmounts fleet = {{"h100", 64}, {"a100", 8}};
  EXPECT_TRUE(warnings_about(tree_in("[queue.a]\nguaranteed = { h100 = 64, gpus = 72, cpus = 9 }\n"
                                     "members = [\"@empty\", \"anna\"]\n"),
                             fleet, users)
                  .empty());
  const auto warnings = warnings_about(
      tree_in("[queue.\"a/x\"]\nguaranteed = { h100 = 40 }\n"
              "[queue.b]\nguaranteed = { h100 = 25, b200 = 1 }\nmembers = [\"bob\", \"@empty\"]\n"
              "[queue.c]\nguaranteed = { gpus = 73 }\nmembers = [\"@nlp\"]\n"),
      fleet, users);
  ASSERT_EQ(warnings.size(), 4U);
  EXPECT_TRUE(warnings[0].starts_with("1 B200 are guaranteed, and the fleet has 0"));
  EXPECT_TRUE(warnings[1].starts_with("73 GPUs are guaranteed, and the fleet has 72"));
  EXPECT_TRUE(warnings[2].starts_with("65 H100 are guaranteed, and the fleet has 64"));
  EXPECT_TRUE(warnings[3].starts_with("the members of queue b are nobody")) << warnings[3];
  users.are_logins_users = true;
  EXPECT_TRUE(warnings_about(tree_in("[queue.a]\nmembers = [\"bob\"]\n"), fleet, users).empty());
  EXPECT_EQ(warnings_about(QueueTree(), fleet, users).size(), 1U);
}

}  // namespace
}  // namespace muster::cli

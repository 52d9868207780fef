// The tree of queues as it is sent and logged: paths, what makes a tree valid, its guarantees, and
// its bytes.

#include "scheduler/protocol/queues.h"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "gossip/base/rng.h"

namespace muster::scheduler {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

QueueNode queue(const std::string& path) {
  QueueNode node;
  node.path = path;
  return node;
}

QueueTree tree_of(std::vector<QueueNode> nodes) {
  return {kHalfLifeDefault, std::move(nodes)};
}

TEST(Queues, ParentsStandRightBeforeTheirChildren) {
  std::vector<std::string> paths = {"b", "a-b", "a/b", "a", "a/b/c", "a.b", "a/b-c", "ab"};
  std::sort(paths.begin(), paths.end(), path_less);
  EXPECT_EQ(paths,
            (std::vector<std::string>{"a", "a/b", "a/b/c", "a/b-c", "a-b", "a.b", "ab", "b"}));
  EXPECT_FALSE(path_less("a", "a"));
  EXPECT_EQ(parent_path("a/b/c"), "a/b");
  EXPECT_EQ(parent_path("a"), "");
}

TEST(Queues, APathIsNamesOfLettersAndDigits) {
  const std::string longest(kQueueSegmentBytesMax, 'x');
  for (const std::string& good :
       {std::string("a"), std::string("9.b_c-D/e"), longest, std::string("1/2/3/4/5/6/7/8"),
        longest + "/" + longest + "/" + longest + "/" + longest.substr(4)}) {
    EXPECT_TRUE(check_queue_path(good).has_value()) << good;
  }
  for (const std::string& odd :
       {std::string(), std::string("/"), std::string("/a"), std::string("a/"), std::string("a//b"),
        std::string("-a"), std::string("a/.b"), std::string("a b"), std::string("a\nb"),
        std::string("\xc3\xa4"), longest + "x", std::string("1/2/3/4/5/6/7/8/9"),
        longest + "/" + longest + "/" + longest + "/" + longest}) {
    EXPECT_FALSE(check_queue_path(odd).has_value()) << odd;
  }
}

TEST(Queues, TiersHaveNames) {
  for (int number = 0; number <= static_cast<int>(kTierLast); ++number) {
    const auto tier = static_cast<Tier>(number);
    EXPECT_EQ(tier_of(text_of(tier)), tier);
  }
  EXPECT_EQ(tier_of(""), Tier::kNone);
  EXPECT_EQ(tier_of("gold"), std::nullopt);
}

struct TreeRow {
  const char* name;
  std::function<void(QueueTree&)> change;
  const char* why;  ///< Part of the text; "" = it is valid.
};

/// research (guaranteed 8 h100) with cv and nlp, and serving.
QueueTree plain_tree() {
  QueueTree tree =
      tree_of({queue("research"), queue("research/cv"), queue("research/nlp"), queue("serving")});
  tree.nodes[0].guaranteed = {{"h100", 8}};
  return tree;
}

const TreeRow kTreeRows[] = {
    {"as it is", [](QueueTree&) {}, ""},
    {"empty", [](QueueTree& tree) { tree.nodes.clear(); }, ""},
    {"without the parent", [](QueueTree& tree) { tree.nodes.erase(tree.nodes.begin()); }, ""},
    {"weight 0", [](QueueTree& tree) { tree.nodes[1].weight = 0; }, "queue research/cv: a weight"},
    {"weight 1000", [](QueueTree& tree) { tree.nodes[1].weight = 1000; }, ""},
    {"weight 1001", [](QueueTree& tree) { tree.nodes[1].weight = 1001; }, "1 to 1000"},
    {"odd path", [](QueueTree& tree) { tree.nodes[3].path = "ser ving"; }, "not a valid path"},
    {"depth 9", [](QueueTree& tree) { tree.nodes[3].path = "s/1/2/3/4/5/6/7/8"; },
     "not a valid path"},
    {"doubled", [](QueueTree& tree) { tree.nodes[2].path = "research/cv"; },
     "queue research/cv: it is named twice"},
    {"out of order", [](QueueTree& tree) { tree.nodes[3].path = "a"; }, "order of their paths"},
    {"below default", [](QueueTree& tree) { tree.nodes = {queue("default/a")}; },
     "there is no queue below it"},
    {"half-life", [](QueueTree& tree) { tree.half_life = 59min; }, "half-life"},
    {"half-life of a year", [](QueueTree& tree) { tree.half_life = kHalfLifeMax; }, ""},
    {"no tier", [](QueueTree& tree) { tree.nodes[0].tiers = {Tier::kNone}; }, "is no tier"},
    {"doubled tier",
     [](QueueTree& tree) {
       tree.nodes[0].tiers = {Tier::kBatch, Tier::kPremium, Tier::kBatch};
     },
     "tier batch is named twice"},
    {"amount",
     [](QueueTree& tree) {
       tree.nodes[3].max = {{"h100", kQueueAmountMax}};
     },
     ""},
    {"amount too large",
     [](QueueTree& tree) {
       tree.nodes[3].max = {{"h100", kQueueAmountMax + 1}};
     },
     "queue serving: max h100 is above 10000000"},
    {"guarantee too large",
     [](QueueTree& tree) {
       tree.nodes[3].guaranteed = {{kCpus.data(), kQueueAmountMax + 1}};
     },
     "guaranteed cpus is above"},
    {"type in capitals",
     [](QueueTree& tree) {
       tree.nodes[3].max = {{"H100", 1}};
     },
     "a GPU type in small letters"},
    {"too many amounts",
     [](QueueTree& tree) {
       for (std::size_t i = 0; i <= kQueueAmountsMax; ++i) {
         tree.nodes[3].max["type" + std::to_string(i)] = 1;
       }
     },
     "more than 64 amounts"},
    {"child above its parent",
     [](QueueTree& tree) {
       tree.nodes[1].guaranteed = {{"h100", 9}};
     },
     "queue research: the queues below it are guaranteed 9 h100, it itself 8"},
    {"children together above their parent",
     [](QueueTree& tree) {
       tree.nodes[1].guaranteed = {{"h100", 5}};
       tree.nodes[2].guaranteed = {{"h100", 4}};
     },
     "guaranteed 9 h100, it itself 8"},
    {"another type than the parent",
     [](QueueTree& tree) {
       tree.nodes[1].guaranteed = {{"a100", 9}};
     },
     ""},
    {"max below the guaranteed",
     [](QueueTree& tree) {
       tree.nodes[0].max = {{"h100", 7}};
     },
     "queue research: its max h100 7 is below the guaranteed 8"},
    {"max below that of the children",
     [](QueueTree& tree) {
       tree.nodes[0].max = {{"a100", 1}};
       tree.nodes[1].guaranteed = {{"a100", 2}};
     },
     "its max a100 1 is below the guaranteed 2"},
    {"max of all types",
     [](QueueTree& tree) {
       tree.nodes[0].guaranteed["a100"] = 8;
       tree.nodes[0].max = {{std::string(kAllGpus), 15}};
     },
     "its max gpus 15 is below the guaranteed 16 of all types"},
    {"max as guaranteed",
     [](QueueTree& tree) {
       tree.nodes[0].max = {{"h100", 8}};
     },
     ""},
    {"time limit 0", [](QueueTree& tree) { tree.nodes[0].time_limit_max = 0s; }, "time limit"},
    {"no time limit", [](QueueTree& tree) { tree.nodes[0].time_limit_max = kNoTimeLimit; }, ""},
    {"time limit of two years",
     [](QueueTree& tree) { tree.nodes[0].time_limit_max = 2 * kHalfLifeMax; }, "time limit"},
    {"max-pending of a million",
     [](QueueTree& tree) { tree.nodes[0].max_pending = kQueuePendingMax; }, ""},
    {"max-pending above a million",
     [](QueueTree& tree) { tree.nodes[0].max_pending = kQueuePendingMax + 1; },
     "max-pending is at most 1000000"},
    {"members",
     [](QueueTree& tree) {
       tree.nodes[0].members = {"ann", "@nlp", "x y"};
     },
     ""},
    {"no member", [](QueueTree& tree) { tree.nodes[0].members = {""}; }, "a member is a login"},
    {"no team", [](QueueTree& tree) { tree.nodes[0].members = {"@"}; }, "a member is a login"},
    {"member that steers a terminal", [](QueueTree& tree) { tree.nodes[0].members = {"a\x1b[2J"}; },
     "a member is a login"},
    {"member twice",
     [](QueueTree& tree) {
       tree.nodes[0].members = {"ann", "bob", "ann"};
     },
     "member ann is named twice"},
    {"too many members",
     [](QueueTree& tree) {
       for (std::size_t i = 0; i <= kQueueMembersMax; ++i) {
         tree.nodes[0].members.push_back("user" + std::to_string(i));
       }
     },
     "make a team"},
};

TEST(Queues, WhatATreeMayNotBe) {
  for (const TreeRow& row : kTreeRows) {
    QueueTree tree = plain_tree();
    row.change(tree);
    const Status valid = validate(tree);
    if (*row.why == '\0') {
      EXPECT_TRUE(valid.has_value()) << row.name << ": " << valid.error().text;
      continue;
    }
    ASSERT_FALSE(valid.has_value()) << row.name;
    EXPECT_EQ(valid.error().code, ErrorCode::kInvalid) << row.name;
    EXPECT_NE(valid.error().text.find(row.why), std::string::npos)
        << row.name << ": " << valid.error().text;
  }
}

TEST(Queues, ATreeHasAtMost1024) {
  std::vector<QueueNode> nodes;
  for (std::size_t i = 0; i < kQueuesMax; ++i) {
    nodes.push_back(queue("q" + std::to_string(10'000 + i)));
  }
  EXPECT_TRUE(validate(tree_of(nodes)).has_value());
  nodes.push_back(queue("z"));
  EXPECT_FALSE(validate(tree_of(nodes)).has_value());
}

TEST(Queues, AParentHasTheSumOfWhatItDoesNotName) {
  QueueTree tree = tree_of({queue("a/b/c"), queue("a/b/d"), queue("a/e"), queue("f")});
  tree.nodes[0].guaranteed = {{"h100", 2}, {"gpus", 1}};
  tree.nodes[1].guaranteed = {{"h100", 3}};
  tree.nodes[2].guaranteed = {{"a100", 4}, {"h100", 1}};
  auto guarantees = guarantees_of(tree);
  EXPECT_EQ(guarantees.size(), 6U) << "with a and a/b";
  EXPECT_EQ(guarantees["a"], (QueueAmounts{{"a100", 4}, {"gpus", 1}, {"h100", 6}}));
  EXPECT_EQ(guarantees["a/b"], (QueueAmounts{{"gpus", 1}, {"h100", 5}}));
  EXPECT_EQ(guarantees["f"], QueueAmounts());
  QueueNode parent = queue("a/b");
  parent.guaranteed = {{"h100", 10}};
  tree.nodes.insert(tree.nodes.begin(), parent);
  guarantees = guarantees_of(tree);
  EXPECT_EQ(guarantees["a/b"], (QueueAmounts{{"gpus", 1}, {"h100", 10}}));
  EXPECT_EQ(guarantees["a"], (QueueAmounts{{"a100", 4}, {"gpus", 1}, {"h100", 11}}));
}

QueueAmounts drawn_amounts(Rng& rng) {
  QueueAmounts amounts;
  for (std::uint64_t i = rng.below(4); i > 0; --i) {
    amounts["type" + std::to_string(rng.below(5))] = rng.below(kQueueAmountMax + 1);
  }
  return amounts;
}

entry::SetQueues drawn_change(Rng& rng) {
  entry::SetQueues fact;
  fact.expected = rng.below(1'000'000);
  fact.tree.half_life = Duration(static_cast<std::int64_t>(rng.below(1'000'000'000)));
  for (std::uint64_t i = rng.below(8); i > 0; --i) {
    QueueNode node = queue("q" + std::to_string(i));
    node.weight = static_cast<std::uint32_t>(rng.below(kQueueWeightMax + 1));
    node.guaranteed = drawn_amounts(rng);
    node.max = drawn_amounts(rng);
    for (std::uint64_t tier = rng.below(4); tier > 0; --tier) {
      node.tiers.push_back(static_cast<Tier>(rng.below(6)));
    }
    node.members.resize(rng.below(3), "@team");
    node.is_fifo = rng.below(2) == 0;
    const std::optional<Duration> limits[] = {std::nullopt, kNoTimeLimit, 2h, 0s};
    node.time_limit_max = limits[rng.below(4)];
    node.max_pending = rng.below(2) * rng.below(kQueuePendingMax + 1);
    fact.tree.nodes.push_back(std::move(node));
  }
  for (std::uint64_t i = rng.below(3); i > 0; --i) {
    fact.moves.push_back({"from" + std::to_string(i), "to/there"});
  }
  fact.by = {"ann@a", "ann", HostId()};
  return fact;
}

TEST(Queues, WhatIsWrittenIsRead) {
  Rng rng(7);
  for (int round = 0; round < 500; ++round) {
    const entry::SetQueues fact = drawn_change(rng);
    gossip::Encoder out;
    write(out.array(kSetQueuesElements), fact);
    const auto document = gossip::Document::parse(out.take());
    ASSERT_TRUE(document.has_value());
    gossip::Reader in = document->root();
    EXPECT_EQ(read_set_queues(in), fact);
    EXPECT_TRUE(in.ok());
    EXPECT_EQ(in.left(), 0U);
  }
}

TEST(Queues, TheLargestTreeIsReadAndALargerOneIsNot) {
  for (const std::size_t more : {std::size_t{0}, std::size_t{1}}) {
    gossip::Encoder out;
    write(out.array(1), tree_of(std::vector<QueueNode>(kQueuesMax + more, queue("a"))));
    const auto document = gossip::Document::parse(out.take());
    ASSERT_TRUE(document.has_value());
    gossip::Reader in = document->root();
    read_queue_tree(in);
    EXPECT_EQ(in.ok(), more == 0);
  }
}

}  // namespace
}  // namespace muster::scheduler

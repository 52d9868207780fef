#pragma once
// The tree of queues as a file holds it, and as the verbs of operators change it: its text, the
// lines that tell two trees apart, and warnings before a tree is set. Pure: cli/edge/queues_toml.h
// reads the file.

#include <string>
#include <string_view>
#include <vector>

#include "agent/api/users.h"
#include "scheduler/protocol/queues.h"

namespace muster::cli {

/// TOML that parse_queues_file() reads back to an equal tree. Only values that differ from those
/// of a new queue are in it.
std::string toml_of(const scheduler::QueueTree& tree);

/// A line for each difference: "queue nlp: weight 4 (was 1); max 64 H100 (was none)". Empty if the
/// trees are equal. Values that differ by less than a millisecond are equal here.
std::vector<std::string> differences(const scheduler::QueueTree& now,
                                     const scheduler::QueueTree& next);

/// Sentences about a tree that is valid, and is perhaps not meant: a tree without queues, more
/// guaranteed than the fleet has, members that are nobody. `fleet`: GPUs by folded type.
std::vector<std::string> warnings_about(const scheduler::QueueTree& tree,
                                        const scheduler::QueueAmounts& fleet,
                                        const agent::UserList& users);

/// Every queue that there is: those that the tree names, their parents, and the queue default, in
/// the order of path_less().
std::vector<std::string> paths_of(const scheduler::QueueTree& tree);
/// nullptr if the tree does not name it. The tree owns the node.
const scheduler::QueueNode* find_node(const scheduler::QueueTree& tree, std::string_view path);
/// The node of that path, which is added at its place if it is not there.
scheduler::QueueNode& node_at(scheduler::QueueTree& tree, std::string_view path);
/// Removes the queue and those below it. False if the tree names none of them.
bool remove_queue(scheduler::QueueTree& tree, std::string_view path);
/// Is it `path`, or below it?
bool is_within(std::string_view each, std::string_view path);
/// "there is no queue nlq; did you mean research/nlp? (`muster queue` lists them)"
std::string no_queue_text(std::string_view path, const std::vector<std::string>& paths);

}  // namespace muster::cli

#include "scheduler/state/queue_snapshot.h"

#include <utility>

namespace muster::scheduler {

std::vector<gossip::Encoder> queue_documents(const QueueBook& queues, std::uint64_t section) {
  std::vector<gossip::Encoder> documents;
  if (queues.is_set()) {
    documents.emplace_back();
    documents.back().array(3).u64(section).u64(queues.version());
    write(documents.back(), queues.tree());
  }
  return documents;
}

QueueBook read_queues(gossip::Reader& in) {
  const std::uint64_t version = in.u64();
  QueueTree tree = read_queue_tree(in);
  if (!in.ok() || version == 0 || !validate(tree)) {
    in.fail();
    return {};
  }
  return {version, std::move(tree)};
}

}  // namespace muster::scheduler

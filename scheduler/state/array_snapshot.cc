#include "scheduler/state/array_snapshot.h"

#include <algorithm>

#include "scheduler/protocol/codec.h"
#include "scheduler/state/wait_snapshot.h"

namespace muster::scheduler {
namespace {

constexpr std::size_t kChunk = 4096;

std::uint32_t read_task(gossip::Reader& in) {
  return static_cast<std::uint32_t>(in.u64_at_most(kTaskIndexMax + 1));
}

}  // namespace

void write_array(gossip::Encoder& out, const TaskArray& array) {
  out.num(array.id);
  write(out, array.spec);
  out.text(array.key).text(array.submitted_by).i64(array.priority).u64(array.next);
  out.array(array.skipped.size() * 2);
  for (const auto& [first, last] : array.skipped) {
    out.u64(first).u64(last);
  }
  out.u64(array.completed)
      .u64(array.failed)
      .u64(array.cancelled)
      .text(array.cancelled_by)
      .duration(array.submitted_at)
      .i64(array.submitted_unix_ms)
      .i64(array.ended_unix_ms)
      .num(array.ended_index);
  // One list may be longer than a document's lists are.
  const std::size_t chunks = (array.adopted.size() + kChunk - 1) / kChunk;
  out.array(chunks);
  for (std::size_t begin = 0; begin < array.adopted.size(); begin += kChunk) {
    const std::size_t end = std::min(begin + kChunk, array.adopted.size());
    out.array(end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      out.u64(array.adopted[i]);
    }
  }
  if (!array.wait.is_none()) {
    write_wait(out, array.wait);
  }
}

TaskArray read_array(gossip::Reader& in) {
  TaskArray array;
  array.id = in.num<JobId>();
  array.spec = read_job_spec(in);
  array.key = in.text();
  array.submitted_by = in.text();
  array.priority = static_cast<std::int32_t>(in.i64());
  array.next = read_task(in);
  gossip::Reader skipped = in.array();
  while (skipped.ok() && skipped.left() > 0) {
    const std::uint32_t first = read_task(skipped);
    array.skipped.emplace_back(first, read_task(skipped));
  }
  array.completed = read_task(in);
  array.failed = read_task(in);
  array.cancelled = read_task(in);
  array.cancelled_by = in.text();
  array.submitted_at = in.duration();
  array.submitted_unix_ms = in.i64();
  array.ended_unix_ms = in.i64();
  array.ended_index = in.num<LogIndex>();
  gossip::Reader chunks = in.array();
  while (chunks.ok() && chunks.left() > 0) {
    gossip::Reader adopted = chunks.array();
    while (adopted.ok() && adopted.left() > 0) {
      array.adopted.push_back(read_task(adopted));
    }
  }
  if (in.left() > 0) {
    array.wait = read_wait(in);
  }
  if (!array.spec.array.has_value()) {
    in.fail();
  }
  return array;
}

}  // namespace muster::scheduler

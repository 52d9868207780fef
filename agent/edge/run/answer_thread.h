#pragma once
// AnswerThread makes the documents of lists beside the event loop: for a list of 400 jobs that
// takes 17 ms, in which no probe would be answered. Owned by WebDoor.
//
// submit() and take() belong to the thread of the event loop.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "agent/api/request.h"
#include "agent/api/rest/call.h"
#include "agent/api/rest/http_message.h"

namespace muster::agent {

class AnswerThread {
 public:
  /// RestCall::on_answer() of `response`. Its rule uses nothing of the loop.
  struct Work {
    std::uint64_t number = 0;
    RestCall call;
    Response response{};
  };
  struct Made {
    std::uint64_t number = 0;
    RestCall call;
    std::optional<HttpAnswer> answer{};
  };

  AnswerThread();
  /// Drops what waits.
  ~AnswerThread();
  AnswerThread(const AnswerThread&) = delete;
  AnswerThread& operator=(const AnswerThread&) = delete;

  /// Never blocks. The caller bounds how many are under way: each takes memory.
  void submit(Work work);
  /// Readable while take() may have something.
  int fd() const;
  /// In the order of submit(); makes fd() silent.
  std::vector<Made> take();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::agent

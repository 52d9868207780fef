// muster gpus mask, unmask: an operator takes a GPU out of use, and says that it is well. Each may
// be said again.

#include "agent/api/gpus.h"
#include "agent/api/json/gpus.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "cli/kit/host_name.h"
#include "cli/kit/quote.h"
#include "cli/kit/retry.h"
#include "cli/kit/text.h"
#include "cli/verbs/gpu_list.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

/// Fewer characters of a uuid are refused: "GPU-" and a few more name another GPU tomorrow.
constexpr std::size_t kUuidCharactersMin = 8;

class GpuOrder : public Verb {
 public:
  void describe(Options& options) override {
    options.word("UUID", uuid_, "UUID of the GPU, or its first characters, at least 8");
    options.text("--why", why_, "Reason, shown by `muster gpus`; required", "TEXT");
    options.text("--host", host_, "Host of the GPU; needed if several hosts have it", "NAME");
    common_.describe(options);
    options.example("muster gpus " + std::string(word()) + " GPU-5d0a1f3e --why '" +
                    std::string(example_reason()) + "'");
  }

  int run(Session& session) override {
    if (uuid_.size() < kUuidCharactersMin || why_.empty()) {
      return session.fail(ResponseStatus::kUsage,
                          why_.empty() ? "give the reason with --why"
                                       : "'" + uuid_ + "' is too short: give at least " +
                                             std::to_string(kUuidCharactersMin) +
                                             " characters of the UUID (muster gpus)");
    }
    agent::GpusQuery query;
    query.uuid = uuid_;
    if (!host_.empty()) {
      const auto found = find_host(session, host_);
      if (!found.host.has_value()) {
        return found.exit_code;
      }
      query.host = found.host->id;
    }
    const auto list = read_gpus(session, query);
    if (!list.has_value()) {
      return session.failed();
    }
    if (list->gpus.size() != 1) {
      return refuse(session, *list);
    }
    return order(session, list->gpus.front());
  }

 protected:
  virtual agent::Verb verb() const = 0;
  virtual std::string_view word() const = 0;
  virtual std::string_view done() const = 0;  ///< "GPU-... of host b DONE"; also a key of --json.
  virtual std::string_view example_reason() const = 0;
  virtual void tell_more(Session& session, const agent::ListedGpu& gpu) const = 0;

 private:
  int refuse(Session& session, const agent::GpuList& list) const {
    if (list.gpus.empty()) {
      return session.fail(ResponseStatus::kNotFound,
                          "no host has registered a GPU '" + uuid_ + "': `muster gpus` lists them");
    }
    const agent::ListedGpu& first = list.gpus.front();
    const agent::ListedGpu& last = list.gpus.back();
    return session.fail(
        ResponseStatus::kConflict,
        "'" + uuid_ + "' means " + std::to_string(list.gpus.size()) + " GPUs, among them " +
            first.uuid + " of host " + first.host_name + " and " + last.uuid + " of host " +
            last.host_name +
            (first.uuid == last.uuid ? ": say --host" : ": give more characters, or --host"));
  }

  int order(Session& session, const agent::ListedGpu& gpu) const {
    agent::Request request;
    request.verb = verb();
    request.arguments = agent::encode_payload(agent::GpuOrderArgs{gpu.host, gpu.uuid, why_});
    request.user = session.world().user_name();
    Reply reply = exchange_with_retries(session, request).reply;
    if (!reply.is_ok()) {
      reply.text += reply.status == ResponseStatus::kUnknown
                        ? "; repeat with: muster gpus " + std::string(word()) + " " + gpu.uuid +
                              " --host " + shell_quoted(gpu.host_name) + " --why " +
                              shell_quoted(why_)
                        : "";
      return session.fail(reply);
    }
    if (session.common().is_json) {
      session.out() << agent::gpu_ordered_json(done(), gpu.uuid, gpu.host_name, gpu.host) << "\n";
      return 0;
    }
    session.out() << printable(gpu.uuid + " of host " + gpu.host_name + " " + std::string(done()))
                  << "\n";
    tell_more(session, gpu);
    return 0;
  }

  std::string uuid_;
  std::string why_;
  std::string host_;
};

class Mask final : public GpuOrder {
 protected:
  agent::Verb verb() const override { return agent::Verb::kMaskGpu; }
  std::string_view word() const override { return "mask"; }
  std::string_view done() const override { return "masked"; }
  std::string_view example_reason() const override { return "fan 3"; }
  void tell_more(Session& session, const agent::ListedGpu& gpu) const override {
    if (gpu.job != JobId()) {
      session.note("job " + muster::text_of(gpu.job) +
                   " goes on there; no job gets the GPU after it, until it is unmasked");
    }
  }
};

class Unmask final : public GpuOrder {
 protected:
  agent::Verb verb() const override { return agent::Verb::kUnmaskGpu; }
  std::string_view word() const override { return "unmask"; }
  std::string_view done() const override { return "unmasked"; }
  std::string_view example_reason() const override { return "fan replaced"; }
  void tell_more(Session& session, const agent::ListedGpu& gpu) const override {
    if (gpu.state == "quarantined" || gpu.state == "unreachable") {
      session.note("it was " + gpu.state + ", and stays so until its host reports that it is not");
    }
  }
};

}  // namespace

std::unique_ptr<Verb> make_gpu_mask() {
  return std::make_unique<Mask>();
}
std::unique_ptr<Verb> make_gpu_unmask() {
  return std::make_unique<Unmask>();
}

}  // namespace muster::cli

#include "scheduler/protocol/eligibility.h"

#include <utility>

#include "scheduler/protocol/codec.h"

namespace muster::scheduler {
namespace {

constexpr std::string_view kEndingTexts[] = {"ok", "fail", "any"};  ///< By number.

Error wrong_eligibility(std::string text) {
  return {ErrorCode::kInvalid, std::move(text)};
}

}  // namespace

std::string_view text_of(Ending ending) {
  const auto number = static_cast<std::size_t>(ending);
  return number < std::size(kEndingTexts) ? kEndingTexts[number] : "";
}

std::optional<Ending> ending_of(std::string_view text) {
  for (std::size_t i = 0; i < std::size(kEndingTexts); ++i) {
    if (kEndingTexts[i] == text) {
      return static_cast<Ending>(i);
    }
  }
  return std::nullopt;
}

std::string text_of(const Dependency& item) {
  return std::string(text_of(item.ending)) + ":" + text_of(item.job);
}

Status validate(const Eligibility& eligibility) {
  if (eligibility.after.size() > kDependenciesMax) {
    return wrong_eligibility("a job waits for at most " + std::to_string(kDependenciesMax) +
                             " others");
  }
  for (const Duration span : {eligibility.begin, eligibility.deadline}) {
    if (span < Duration::zero() || span > kSpanMax) {
      return wrong_eligibility("a begin or deadline is negative or above a year");
    }
  }
  if (eligibility.deadline != Duration::zero() && eligibility.deadline <= eligibility.begin) {
    // A deadline is looked at before a begin of the same moment.
    return wrong_eligibility("the deadline is not after the begin: the job could never start");
  }
  return ok();
}

void write(gossip::Encoder& out, const Eligibility& eligibility) {
  out.array(2 + 2 * eligibility.after.size())
      .duration(eligibility.begin)
      .duration(eligibility.deadline);
  for (const Dependency& item : eligibility.after) {
    out.u64(static_cast<std::uint64_t>(item.ending)).num(item.job);
  }
}

Eligibility read_eligibility(gossip::Reader& outer) {
  gossip::Reader in = outer.array_at_most(2 + 2 * kDependenciesMax);
  Eligibility eligibility;
  eligibility.begin = in.duration();
  eligibility.deadline = in.duration();
  while (in.ok() && in.left() > 0) {
    Dependency item;
    item.ending = static_cast<Ending>(in.u64_at_most(static_cast<std::uint64_t>(kEndingLast)));
    item.job = in.num<JobId>();
    eligibility.after.push_back(item);
  }
  if (!in.ok() || !validate(eligibility)) {
    outer.fail();
    return {};
  }
  return eligibility;
}

}  // namespace muster::scheduler

#include "agent/api/rest/jobs_calls.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "agent/api/job_state.h"
#include "agent/api/jobs.h"
#include "agent/api/json/view.h"
#include "agent/api/rest/job_ids.h"
#include "agent/api/users.h"

namespace muster::agent {
namespace {

/// Answers asked for; each holds hundreds of jobs at least.
constexpr std::size_t kJobPagesMax = 1000;

using TakeJobs = std::function<CallStep(JobList, const Response&)>;

/// The jobs that are read by the steps of one call, one after the other.
struct JobsRead {
  JobList all{};
  std::set<JobId> arrays{};   ///< Of which the tasks are read, too.
  bool adds_at_work = false;  ///< Arrays with tasks at work are added to them.
  JobsQuery query{};          ///< The next one.
  std::size_t pages = 0;      ///< Of this array, or of all jobs.
  TakeJobs take{};
};

CallStep next_jobs(const CallFrame& frame, const std::shared_ptr<JobsRead>& read_so_far);

/// Behind the last page of all jobs, or of an array.
CallStep next_array(const CallFrame& frame, const std::shared_ptr<JobsRead>& so_far,
                    const Response& response) {
  if (so_far->query.array == JobId() && so_far->adds_at_work) {
    for (const JobSummary& job : so_far->all.jobs) {
      if (job.tasks_running != 0) {
        so_far->arrays.insert(job.id);
      }
    }
  }
  if (so_far->arrays.empty()) {
    return so_far->take(std::move(so_far->all), response);
  }
  so_far->query = {JobId(), *so_far->arrays.begin()};
  so_far->arrays.erase(so_far->arrays.begin());
  so_far->pages = 0;
  return next_jobs(frame, so_far);
}

CallStep next_jobs(const CallFrame& frame, const std::shared_ptr<JobsRead>& so_far) {
  return look_up<JobList>(
      frame, Verb::kJobs, encode_payload(so_far->query),
      [frame, so_far](JobList list, const Response& response) -> CallStep {
        std::move(list.jobs.begin(), list.jobs.end(), std::back_inserter(so_far->all.jobs));
        if (list.next <= so_far->query.after || ++so_far->pages == kJobPagesMax) {
          return next_array(frame, so_far, response);
        }
        so_far->query.after = list.next;
        return next_jobs(frame, so_far);
      });
}

CallStep read_all_jobs(const CallFrame& frame, const JobsWish& wish, TakeJobs take) {
  auto so_far = std::make_shared<JobsRead>();
  so_far->arrays = wish.arrays();
  so_far->adds_at_work = !wish.host.empty();
  so_far->take = std::move(take);
  return next_jobs(frame, so_far);
}

/// A page in the order of numbers, with every job that fits.
struct JobsPage {
  JobsWish wish;
  std::string me;
  JobsQuery query;
  std::size_t size = kPageMax;
  JobList all{};
  std::size_t pages = 0;
};

CallStep told_page(const CallFrame& frame, JobsPage& page, JobId next, const Response& response) {
  if (page.all.jobs.size() > page.size) {
    page.all.jobs.resize(page.size);
    next = page.all.jobs.back().id;
  }
  CallStep step = told(frame, to_json(page.all, 0, response), response);
  if (next != JobId()) {
    step.answer.fields.emplace_back("muster-next", text_of(next));
  }
  return step;
}

CallStep next_of_page(const CallFrame& frame, const std::shared_ptr<JobsPage>& page) {
  return look_up<JobList>(
      frame, Verb::kJobs, encode_payload(page->query),
      [frame, page](JobList list, const Response& response) -> CallStep {
        choose_jobs(page->wish, page->me, list.jobs);
        std::move(list.jobs.begin(), list.jobs.end(), std::back_inserter(page->all.jobs));
        const bool is_last = list.next <= page->query.after;
        if (is_last || page->all.jobs.size() >= page->size || ++page->pages == kJobPagesMax) {
          return told_page(frame, *page, is_last ? JobId() : list.next, response);
        }
        page->query.after = list.next;
        return next_of_page(frame, page);
      });
}

/// `after` is the number of a job, or 0 for the first page.
CallStep begin_page(const CallFrame& frame, JobsWish wish, const std::string& me, JobId after) {
  auto page = std::make_shared<JobsPage>();
  const std::set<JobId> arrays = wish.arrays();
  page->query = {after, arrays.empty() ? JobId() : *arrays.begin()};
  page->size = wish.limit == 0 ? kPageMax : wish.limit;
  page->me = me;
  wish.limit = UINT64_MAX;  // Of a page no ended job is left out.
  page->wish = std::move(wish);
  return next_of_page(frame, page);
}

std::vector<std::string_view> state_views() {
  return {state_names().begin(), state_names().end()};
}

JobsWish jobs_wish_of(QueryFields& query) {
  JobsWish wish;
  for (const std::string& word : query.texts("job")) {
    const Result<JobRange> range = parse_job_range(word);
    if (!range) {
      query.refuse("job", range.error().text);
    } else {
      wish.ranges.push_back(*range);
    }
  }
  if (wish.ranges.size() > kJobRangesMax) {
    query.refuse("job", "at most " + std::to_string(kJobRangesMax) + " can be given");
  }
  wish.name = query.text("name").value_or("");
  wish.user = query.text("user").value_or("");
  wish.host = query.text("host").value_or("");
  const auto states = query.choices("state", state_views());
  wish.states = {states.begin(), states.end()};
  wish.since_ms = span_ms(query, "since");
  wish.is_all = query.boolean("all").value_or(false);
  wish.are_tasks = query.boolean("tasks").value_or(false);
  wish.sort = query.text("sort").value_or("");
  wish.is_backwards = wish.sort.starts_with('-');
  wish.sort.erase(0, wish.is_backwards ? 1 : 0);
  wish.limit = query.number("limit", 1, kPageMax).value_or(0);
  return wish;
}

/// nullopt: no page is asked for, but all.
std::optional<JobId> after_of(QueryFields& query, const JobsWish& wish) {
  const auto text = query.text("after");
  if (!text.has_value()) {
    return std::nullopt;
  }
  if (!wish.sort.empty() || !wish.host.empty() || wish.arrays().size() > 1) {
    query.refuse("after",
                 "a page is in the order of numbers: leave out sort, host, and tasks of "
                 "more than one array");
  }
  if (*text == "0") {
    return JobId();
  }
  const Result<JobId> after = parse_job_id(*text);
  if (!after) {
    query.refuse("after", after.error().text);
    return JobId();
  }
  return *after;
}

CallStep told_jobs(const CallFrame& frame, const JobsWish& wish, const std::string& me) {
  return read_all_jobs(frame, wish,
                       [frame, wish, me](JobList list, const Response& response) -> CallStep {
                         const std::vector<JobId> missing = missing_among(wish, list.jobs);
                         const std::size_t hidden = choose_jobs(wish, me, list.jobs);
                         return !missing.empty() && list.jobs.empty()
                                    ? refused(ResponseStatus::kNotFound, missing_text(missing))
                                    : told(frame, to_json(list, hidden, response), response);
                       });
}

CallStep read_job(CallInput& input, std::function<CallStep(JobDetail, const Response&)> take) {
  const Result<JobId> job = job_of(input);
  if (!job) {
    return refused(job.error());
  }
  return look_up<JobDetail>(input.frame, Verb::kShow, encode_payload(JobRef{*job}),
                            std::move(take));
}

/// Steps that are younger than `since_ms`, counted back from now; 0 = all.
void drop_old_steps(const JobSummary& job, std::uint64_t since_ms,
                    std::vector<TransitionInfo>& steps) {
  if (since_ms == 0) {
    return;
  }
  std::erase_if(steps, [&](const TransitionInfo& step) {
    const std::uint64_t later = step.unix_ms - std::min(step.unix_ms, job.submit_unix_ms);
    return job.age_ms > later + since_ms;
  });
}

}  // namespace

CallStep list_jobs(CallInput& input) {
  const JobsWish wish = jobs_wish_of(input.query);
  const std::optional<JobId> after = after_of(input.query, wish);
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  if (const Status status = wish.check(); !status) {
    return refused(status.error());
  }
  const auto go_on = [frame = input.frame, wish, after](const std::string& me) {
    return after.has_value() ? begin_page(frame, wish, me, *after) : told_jobs(frame, wish, me);
  };
  if (wish.is_of_all_users() || !wish.ranges.empty()) {
    return go_on("");
  }
  return look_up<WhoamiInfo>(
      input.frame, Verb::kWhoami, "",
      [go_on](const WhoamiInfo& whoami, const Response&) { return go_on(whoami.user); });
}

CallStep show_job(CallInput& input) {
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  return read_job(input, [frame = input.frame](const JobDetail& detail, const Response& response) {
    return told(frame, to_json(detail, response), response);
  });
}

CallStep why_job(CallInput& input) {
  const Result<JobId> job = job_of(input);
  if (const Status status = input.end(); !status || !job) {
    return refused(!job ? job.error() : status.error());
  }
  return look_up<WhyInfo>(input.frame, Verb::kWhy, encode_payload(JobRef{*job}),
                          [frame = input.frame](const WhyInfo& why, const Response& response) {
                            return told(frame, to_json(why, response), response);
                          });
}

CallStep job_events(CallInput& input) {
  const std::uint64_t since_ms = span_ms(input.query, "since");
  const std::uint64_t limit = input.query.number("limit", 1, kPageMax).value_or(0);
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  return read_job(
      input, [frame = input.frame, since_ms, limit](JobDetail detail, const Response& response) {
        std::vector<TransitionInfo>& steps = detail.transitions;
        drop_old_steps(detail.summary, since_ms, steps);
        if (limit != 0 && steps.size() > limit) {
          steps.erase(steps.begin(), steps.end() - static_cast<std::ptrdiff_t>(limit));
        }
        return told(frame, to_json(detail.summary.id, steps, response), response);
      });
}

}  // namespace muster::agent

// muster audit verify: audit files, checked where they lie; no agent is asked.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "agent/api/json/audit.h"
#include "cli/kit/text.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

using agent::AuditFileReport;
using agent::ResponseStatus;

constexpr std::size_t kAuditFilesMax = 1'000;
constexpr std::size_t kDigestDigits = 64;

/// "NUMBER:DIGEST", as the verb itself prints it.
Result<agent::ChainEnd> parse_end(const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto number = parse_number(text.substr(0, colon));
  const std::string digest = text.substr(std::min(colon + 1, text.size()));
  const bool is_digest = digest.size() == kDigestDigits &&
                         digest.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!number || !is_digest) {
    return Error{ErrorCode::kInvalid,
                 "'" + text + "' is not the end of a file: write NUMBER:DIGEST, as it was printed"};
  }
  return agent::ChainEnd{*number, digest};
}

/// "1 line fits", "all 12 lines fit"
std::string fitting(std::uint64_t lines, const std::string& all, const std::string& where) {
  return lines == 1 ? "1 line" + where + " fits"
                    : all + std::to_string(lines) + " lines" + where + " fit";
}

class AuditVerify final : public Verb {
 public:
  void describe(Options& options) override {
    options.words(
        "FILE",
        [this](const std::string& given) {
          paths_.push_back(given);
          return ok();
        },
        "Audit files, as the setting audit_file names them", kAuditFilesMax);
    options.value(
        "--noted",
        [this](const std::string& given) {
          const auto end = parse_end(given);
          noted_ = end ? std::optional(*end) : std::nullopt;
          return end ? ok() : Status(end.error());
        },
        "Check also that the file still has this end, which was printed earlier: only so lines "
        "that were cut off are noticed",
        "NUMBER:DIGEST");
    options.flag("--json", common_.is_json, "Print JSON; `muster man json` explains its fields");
    options.example("muster audit verify /var/log/muster-audit.jsonl");
  }

  int run(Session& session) override {
    if (paths_.empty() || (noted_.has_value() && paths_.size() > 1)) {
      return session.fail(ResponseStatus::kUsage,
                          paths_.empty() ? "FILE is required" : "--noted works with one FILE");
    }
    std::vector<AuditFileReport> reports;
    ResponseStatus status = ResponseStatus::kOk;
    for (const std::string& path : paths_) {
      const auto report = session.world().files.audit(path, noted_);
      AuditFileReport unread;
      unread.path = path;
      if (!report) {
        unread.why = report.error().text;
      }
      reports.push_back(report ? *report : unread);
      if (status == ResponseStatus::kOk && !reports.back().why.empty()) {
        status = report ? ResponseStatus::kFailed : agent::status_of(report.error().code);
      }
    }
    if (session.common().is_json) {
      session.out() << agent::audit_files_json(reports) << "\n";
    } else {
      for (const AuditFileReport& report : reports) {
        print(session, report);
      }
    }
    return static_cast<int>(status);
  }

 private:
  static void print(Session& session, const AuditFileReport& report) {
    const auto time = [&session](std::uint64_t unix_ms) {
      return session.world().clock.local_time(unix_ms);
    };
    std::string text = report.path + ": ";
    if (report.wrong_line != 0) {
      text += "line " + std::to_string(report.wrong_line) + " is wrong: " + report.why + "\n  ";
      text += fitting(report.lines, "", " before it");
    } else if (!report.why.empty()) {
      session.note(report.why);
      return;
    } else {
      text += fitting(report.lines, "all ", "");
    }
    if (report.first_unix_ms != 0) {
      text += ", from " + time(report.first_unix_ms) + " to " + time(report.last_unix_ms);
    }
    if (report.missing != 0) {
      text += "\n  " + std::to_string(report.missing) +
              " lines of the audit are not in the file, as it says itself";
    }
    if (report.end.number != 0) {
      text += "\n  end " + std::to_string(report.end.number) + ":" + report.end.digest;
    }
    session.out() << printable_lines(text + "\n");
  }

  std::vector<std::string> paths_;
  std::optional<agent::ChainEnd> noted_;
};

}  // namespace

std::unique_ptr<Verb> make_audit_verify() {
  return std::make_unique<AuditVerify>();
}

}  // namespace muster::cli

#include "agent/edge/event_log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>

#include "agent/edge/own_path.h"

namespace muster::agent {
namespace {

bool log_as_json = false;

/// The files, until they cannot be turned any more: the library would write to a closed one then.
/// From there on stderr, so that nothing is lost.
class FileOrStderr final : public spdlog::sinks::sink {
 public:
  explicit FileOrStderr(const std::string& file) : file_(file), sink_(opened(file)) {}

  void log(const spdlog::details::log_msg& message) override {
    const std::lock_guard guard(mutex_);
    try {
      sink_->log(message);
    } catch (const spdlog::spdlog_ex& error) {
      if (is_stderr_) {
        throw;
      }
      go_to_stderr(error.what());
      sink_->log(message);
    }
  }
  void flush() override {
    const std::lock_guard guard(mutex_);
    sink_->flush();
  }
  void reopen() {
    const std::lock_guard guard(mutex_);
    reopen_locked();
  }
  /// One that went to stderr stays there until reopen(): what hindered it takes a person.
  void renew() {
    const std::lock_guard guard(mutex_);  // No other thread turns the files meanwhile.
    struct stat found {};
    if (!is_stderr_ && lstat(file_.c_str(), &found) != 0) {
      reopen_locked();
    }
  }
  void set_pattern(const std::string& pattern) override {
    set_formatter(
        std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc));
  }
  void set_formatter(std::unique_ptr<spdlog::formatter> formatter) override {
    formatter_ = std::move(formatter);
    sink_->set_formatter(formatter_->clone());
  }

 private:
  /// Throws. Looked at each time: once the file is gone, another user may put a link in its place.
  static spdlog::sink_ptr opened(const std::string& file) {
    if (const Status own = check_own_file(file); !own) {
      throw spdlog::spdlog_ex(own.error().text);
    }
    return std::make_shared<spdlog::sinks::rotating_file_sink_mt>(file, kLogFileBytes,
                                                                  kLogFiles - 1);
  }
  void reopen_locked() {
    try {
      sink_ = opened(file_);
      is_stderr_ = false;
      sink_->set_formatter(formatter_->clone());
    } catch (const spdlog::spdlog_ex& error) {
      if (!is_stderr_) {
        go_to_stderr(error.what());
      }
    }
  }
  void go_to_stderr(const char* why) {
    std::fprintf(stderr, "muster agent: --log-file: %s; logging to stderr from now on\n", why);
    is_stderr_ = true;
    sink_ = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    sink_->set_formatter(formatter_->clone());
  }

  std::string file_;
  std::mutex mutex_;  ///< Of the fields below: a HUP opens the file while others write.
  spdlog::sink_ptr sink_;
  std::unique_ptr<spdlog::formatter> formatter_ = std::make_unique<spdlog::pattern_formatter>();
  bool is_stderr_ = false;
};

/// Null: the log goes to stderr by the user's wish.
std::shared_ptr<FileOrStderr> log_file;

spdlog::level::level_enum level_of(Severity severity) {
  switch (severity) {
    case Severity::kDebug:
      return spdlog::level::debug;
    case Severity::kInfo:
      return spdlog::level::info;
    case Severity::kWarn:
      return spdlog::level::warn;
    case Severity::kAlarm:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

/// Control bytes must not reach a terminal, and a line stays a line.
std::string escaped(const std::string& text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += byte;
    } else if (code < 0x20 || code == 0x7f) {
      out += "\\u00";
      out += kDigits[code >> 4];
      out += kDigits[code & 15];
    } else {
      out += byte;
    }
  }
  return out;
}

std::string line_of(const Event& event) {
  std::string line = log_as_json ? "\"event\":\"" : "event=";
  line += event.name;
  line += log_as_json ? "\"" : "";
  for (const auto& [key, value] : event.fields) {
    const std::string safe = escaped(value);
    const bool quote = log_as_json || safe.find(' ') != std::string::npos || safe != value;
    line += log_as_json ? ",\"" : " ";
    line += key;
    line += log_as_json ? "\":" : "=";
    line += quote ? "\"" + safe + "\"" : safe;
  }
  return line;
}

}  // namespace

Status open_event_log(bool as_json, const std::string& level, const std::string& file) {
  log_as_json = as_json;
  if (!file.empty()) {
    const std::string folder = std::filesystem::absolute(file).parent_path().string();
    if (std::filesystem::exists(folder) && access(folder.c_str(), W_OK) != 0) {
      // The older files are made by renaming.
      return Error{ErrorCode::kIo, "--log-file: " + folder + " is not writable"};
    }
  }
  spdlog::sink_ptr sink;
  try {
    log_file = file.empty() ? nullptr : std::make_shared<FileOrStderr>(file);
    sink = log_file;
    if (sink == nullptr) {
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    }
  } catch (const spdlog::spdlog_ex& error) {
    return Error{ErrorCode::kIo, std::string("--log-file: ") + error.what()};
  }
  auto logger = std::make_shared<spdlog::logger>("muster", std::move(sink));
  logger->set_level(spdlog::level::from_str(level.empty() ? "info" : level));
  logger->set_pattern(as_json ? "{\"time\":\"%Y-%m-%dT%H:%M:%S.%eZ\",\"level\":\"%l\",%v}"
                              : "%Y-%m-%dT%H:%M:%S.%eZ %-7l %v",
                      spdlog::pattern_time_type::utc);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
  return ok();
}

void set_event_log_level(const std::string& level) {
  spdlog::default_logger_raw()->set_level(spdlog::level::from_str(level.empty() ? "info" : level));
}

void reopen_event_log() {
  if (log_file != nullptr) {
    log_file->reopen();
  }
}

void renew_event_log() {
  if (log_file != nullptr) {
    log_file->renew();
  }
}

void log_event(const Event& event) {
  const auto level = level_of(event.severity);
  if (spdlog::default_logger_raw()->should_log(level)) {
    spdlog::default_logger_raw()->log(level, line_of(event));
  }
}

}  // namespace muster::agent

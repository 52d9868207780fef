#include "cli/kit/agent_settings.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "cli/kit/duration.h"
#include "cli/kit/options.h"
#include "cli/kit/places.h"
#include "cli/kit/size.h"
#include "cli/kit/text.h"
#include "gossip/base/name.h"

namespace muster::cli {
namespace {

constexpr std::size_t kLabelsGivenMax = 48;  ///< The kernel's facts come in addition.
/// `submit --wait` and scripts read the output of what has just ended.
constexpr Duration kOutputKeepMin = std::chrono::minutes(1);
constexpr std::uint16_t kPortMax = 65535;

Error invalid(std::string text) {
  return {ErrorCode::kInvalid, std::move(text)};
}

std::string variable_of(const std::string& name) {
  std::string variable = "MUSTER_" + name;
  std::transform(variable.begin(), variable.end(), variable.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return variable;
}

std::string flag_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

/// One setting and where it came from, for errors.
struct Value {
  std::string text;
  std::string origin;
};

/// Looks settings up and collects the first thing that is wrong with them.
class Lookup {
 public:
  Lookup(const World& world, const Settings& flags, const Settings& file, std::string path)
      : world_(world), flags_(flags), file_(file), path_(std::move(path)) {}

  Value value(const std::string& name, const std::string& otherwise) const {
    if (const auto flag = flags_.find(name); flag != flags_.end()) {
      return {flag->second, flag_of(name)};
    }
    if (const auto variable = world_.environment(variable_of(name)); variable.has_value()) {
      return {*variable, variable_of(name)};
    }
    if (const auto entry = file_.find(name); entry != file_.end()) {
      return {entry->second, path_ + ": " + name};
    }
    return {otherwise, "default"};
  }

  std::string text(const std::string& name, const std::string& otherwise = "") const {
    return value(name, otherwise).text;
  }

  bool truth(const std::string& name) {
    const Value found = value(name, "false");
    const bool is_true = found.text == "true" || found.text == "1";
    if (!is_true && found.text != "false" && found.text != "0") {
      refuse(found, "is neither true nor false");
    }
    return is_true;
  }

  std::string one_of(const std::string& name, const std::vector<std::string>& choices) {
    const Value found = value(name, choices.front());
    if (std::find(choices.begin(), choices.end(), found.text) == choices.end()) {
      refuse(found, "is not one of " + join(choices));
    }
    return found.text;
  }

  void refuse(const Value& value, const std::string& why) {
    if (error_.empty()) {
      error_ = value.origin + ": '" + value.text + "' " + why;
    }
  }
  /// `why` shows the value itself.
  void refuse(const Value& value, const Status& why) {
    if (error_.empty()) {
      error_ = value.origin + ": " + why.error().text;
    }
  }
  const std::string& error() const { return error_; }

 private:
  const World& world_;
  const Settings& flags_;
  const Settings& file_;
  std::string path_;
  std::string error_;
};

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    const std::string part = list.substr(start, end - start);
    const std::size_t first = part.find_first_not_of(' ');
    if (first != std::string::npos) {
      parts.push_back(part.substr(first, part.find_last_not_of(' ') - first + 1));
    }
    start = end + 1;
  }
  return parts;
}

void read_listen(Lookup& lookup, AgentOptions& options) {
  const Value listen = lookup.value("listen", "127.0.0.1:" + std::to_string(kControlPort));
  const auto endpoint = gossip::Endpoint::parse(listen.text, kControlPort);
  if (!endpoint.has_value()) {
    lookup.refuse(listen, "is not IP[:PORT]");
    return;
  }
  if (std::all_of(endpoint->ip.begin(), endpoint->ip.end(), [](auto byte) { return byte == 0; }) ||
      endpoint->ip_text() == "0.0.0.0") {
    lookup.refuse(listen,
                  "is not an address that other hosts can reach: give one of this host's own");
    return;
  }
  if (endpoint->port == kPortMax) {
    lookup.refuse(listen, "leaves no port for bulk, which takes the next one: name one up to " +
                              std::to_string(kPortMax - 1));
    return;
  }
  options.listen = *endpoint;
}

/// A file of a certificate is of no use without its key.
void read_https_files(Lookup& lookup, WebSettings& web) {
  const Value certificate = lookup.value("https_cert", "");
  const Value key = lookup.value("https_key", "");
  if (certificate.text.empty() != key.text.empty()) {
    const bool lacks_key = key.text.empty();
    lookup.refuse(lacks_key ? certificate : key,
                  lacks_key ? "stands alone: name the file of its key, too, as https_key"
                            : "stands alone: name the file of its certificate, too, as https_cert");
  }
  web.certificate = certificate.text;
  web.key = key.text;
}

void read_https(Lookup& lookup, AgentOptions& options) {
  read_https_files(lookup, options.web);
  const Value https = lookup.value("https", "");
  if (https.text == "off") {
    return;
  }
  if (https.text.empty()) {
    options.web.https = options.listen;
    options.web.https->port = kHttpsPort;
    return;
  }
  const auto endpoint = gossip::Endpoint::parse(https.text, kHttpsPort);
  if (!endpoint.has_value()) {
    lookup.refuse(https, "is neither off nor IP[:PORT]");
    return;
  }
  const std::uint16_t control = options.listen.port;
  if (control != 0 && (endpoint->port == control || endpoint->port == control + 1)) {
    lookup.refuse(https, "has a port of `listen`, which takes " + std::to_string(control) +
                             " and the next one: name another port");
    return;
  }
  options.web.https = endpoint;
  options.web.is_asked_for = true;
}

void read_output_rule(Lookup& lookup, AgentOptions& options) {
  const Value keep = lookup.value("output_keep", "14d");
  const Value most = lookup.value("output_max", "4G");
  const Result<Duration> age = parse_duration(keep.text);
  const Result<std::uint64_t> bytes = parse_size(most.text);
  if (!age || *age < kOutputKeepMin) {
    lookup.refuse(keep, !age ? "is not a duration: write 12h or 14d" : "is less than a minute");
    return;
  }
  if (!bytes) {
    lookup.refuse(most, "is not a size: write 512M, 4G or 1T");
    return;
  }
  options.output_keep = *age;
  options.output_max = *bytes;
}

Result<Settings> file_settings(const World& world, const std::string& path, bool is_required) {
  if (!is_required && !world.exists(path)) {
    return Settings{};
  }
  return world.files.settings(path, agent_setting_names());
}

void read_traits(Lookup& lookup, scheduler::HostTraits& traits) {
  traits.rack = lookup.text("rack");
  traits.spine = lookup.text("spine");
  for (const std::string name : {"rack", "spine"}) {
    const Value value = lookup.value(name, "");
    if (const Status good = check_word_name(value.text, name); !value.text.empty() && !good) {
      lookup.refuse(value, good);
    }
  }
  const Value labels = lookup.value("labels", "");
  traits.labels = parts_of(labels.text);
  std::sort(traits.labels.begin(), traits.labels.end());
  traits.labels.erase(std::unique(traits.labels.begin(), traits.labels.end()), traits.labels.end());
  const bool are_labels = std::all_of(traits.labels.begin(), traits.labels.end(), is_label);
  if (!are_labels || traits.labels.size() > kLabelsGivenMax) {
    lookup.refuse(labels, "is not a list of at most " + std::to_string(kLabelsGivenMax) +
                              " labels: write key=value or key, of letters, digits and ._-/");
  }
}

void read_min_isolation(Lookup& lookup, UserSettings& users) {
  const Value value = lookup.value("min_isolation", "");
  users.min_isolation = parts_of(value.text);
  const auto& names = kAbilityNames;
  for (const std::string& part : users.min_isolation) {
    if (std::find(names.begin(), names.end(), part) == names.end()) {
      lookup.refuse(value, "names '" + part +
                               "', which is not an ability: write memory, cpu, pids, devices or "
                               "mounts");
    }
  }
}

}  // namespace

const std::vector<std::string>& agent_setting_names() {
  static const std::vector<std::string> names = {
      "listen",        "seeds",      "ticket",
      "data_dir",      "gpus",       "name",
      "rack",          "spine",      "labels",
      "log_json",      "log_level",  "log_file",
      "output_keep",   "output_max", "shared_user",
      "socket_group",  "audit_file", "system_users_may_run",
      "min_isolation", "hooks",      "kernel_log",
      "https",         "https_cert", "https_key"};
  return names;
}

Result<AgentOptions> agent_options(const World& world, const Settings& flags,
                                   const std::string& config_path) {
  const auto named = world.environment("MUSTER_CONFIG");
  const std::string chosen = config_path.empty() ? named.value_or("") : config_path;
  const std::string path = chosen.empty() ? kSystemConfig : chosen;
  const Result<Settings> file = file_settings(world, path, !chosen.empty());
  if (!file) {
    return file.error();
  }
  Lookup lookup(world, flags, *file, path);
  AgentOptions options;
  options.config_path = chosen.empty() && !world.exists(path) ? "" : path;
  read_listen(lookup, options);
  read_https(lookup, options);
  options.seeds = parts_of(lookup.text("seeds"));
  options.ticket_path = lookup.text("ticket");
  options.data_dir = lookup.text("data_dir");
  if (options.data_dir.empty()) {
    options.data_dir = default_data_dir(world);
  }
  options.gpus = lookup.text("gpus");
  options.name = lookup.text("name", world.host_name());
  read_traits(lookup, options.traits);
  options.log_json = lookup.truth("log_json");
  options.log_level = lookup.one_of("log_level", {"info", "debug", "warn", "error"});
  options.log_file = lookup.text("log_file");
  options.users.socket_group = lookup.text("socket_group");
  options.users.audit_file = lookup.text("audit_file");
  read_output_rule(lookup, options);
  options.users.is_shared = lookup.truth("shared_user");
  options.users.system_users = parts_of(lookup.text("system_users_may_run"));
  options.hooks = lookup.text("hooks", "/etc/muster/hooks.d");
  options.kernel_log = lookup.text("kernel_log", "/dev/kmsg");
  read_min_isolation(lookup, options.users);
  if (const Status good = check_word_name(options.name, "host"); !good) {
    lookup.refuse(lookup.value("name", options.name), good);
  }
  if (!lookup.error().empty()) {
    return invalid(lookup.error());
  }
  return options;
}

std::vector<std::string> settings_of_start(const AgentOptions& before, const AgentOptions& after) {
  const std::pair<const char*, bool> settings[] = {
      {"listen", before.listen == after.listen},
      {"seeds", before.seeds == after.seeds},
      {"ticket", before.ticket_path == after.ticket_path},
      {"data_dir", before.data_dir == after.data_dir},
      {"gpus", before.gpus == after.gpus},
      {"name", before.name == after.name},
      {"rack", before.traits.rack == after.traits.rack},
      {"spine", before.traits.spine == after.traits.spine},
      {"labels", before.traits.labels == after.traits.labels},
      {"log_json", before.log_json == after.log_json},
      {"log_file", before.log_file == after.log_file},
      {"shared_user", before.users.is_shared == after.users.is_shared},
      {"socket_group", before.users.socket_group == after.users.socket_group},
      {"audit_file", before.users.audit_file == after.users.audit_file},
      {"system_users_may_run", before.users.system_users == after.users.system_users},
      {"min_isolation", before.users.min_isolation == after.users.min_isolation},
      {"hooks", before.hooks == after.hooks},
      {"kernel_log", before.kernel_log == after.kernel_log},
      {"https", before.web.https == after.web.https},
      {"https_cert", before.web.certificate == after.web.certificate},
      {"https_key", before.web.key == after.web.key}};
  std::vector<std::string> names;
  for (const auto& [name, is_same] : settings) {
    if (!is_same) {
      names.emplace_back(name);
    }
  }
  return names;
}

}  // namespace muster::cli

#include "agent/edge/run/http_socket.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "agent/edge/event_log.h"

namespace muster::agent {
namespace {

std::string http_directory(const std::string& runtime) {
  return std::filesystem::absolute(runtime).string() + "/http";
}

bool leads_to(const std::string& link, const std::string& target) {
  std::error_code error;
  return std::filesystem::read_symlink(link, error) == target && !error;
}

/// The data directory is this agent's own: an earlier life left what is there.
void lead_to(const std::string& link, const std::string& target) {
  if (!leads_to(link, target)) {
    unlink(link.c_str());
    static_cast<void>(symlink(target.c_str(), link.c_str()));
  }
}

}  // namespace

HttpSocket::~HttpSocket() {
  if (!own_link_.empty() && leads_to(own_link_, listener_.path())) {
    unlink(own_link_.c_str());
  }
}

Status HttpSocket::open(const Place& place) {
  const bool has_runtime = !place.runtime.empty();
  Status opened = Error{ErrorCode::kUnavailable, "there is no directory for it"};
  if (place.is_for_all_logins && has_runtime) {
    opened = open_for_logins(place);
    if (!opened) {
      log_event({Severity::kWarn, "no_http_for_logins", {{"why", opened.error().text}}});
    }
  }
  // As it was given: an absolute path may be too long for a socket.
  const std::string own = place.data_dir + "/http.sock";
  if (!opened) {
    opened = listener_.open(own, std::nullopt);
  }
  if (!opened) {
    return opened;
  }
  if (listener_.path() != own) {
    own_link_ = own;
    lead_to(own_link_, listener_.path());
  }
  if (!has_runtime) {
    return ok();
  }
  Status linked = make_runtime_directory(std::filesystem::absolute(place.runtime).string());
  if (linked) {
    linked = links_.make(http_directory(place.runtime), place.name,
                         std::filesystem::absolute(listener_.path()).string());
  }
  if (!linked) {
    log_event({Severity::kWarn, "no_http_socket_link", {{"why", linked.error().text}}});
  }
  return ok();
}

Status HttpSocket::open_for_logins(const Place& place) {
  const std::string above = std::filesystem::absolute(place.runtime).string();
  const std::string directory = http_directory(place.runtime);
  for (const std::string& each : {above, directory}) {
    if (const Status made = make_runtime_directory(each); !made) {
      return made;
    }
  }
  return listener_.open(directory + "/" + place.name + ".sock", place.group);
}

bool HttpSocket::renew() {
  const bool is_new = listener_.renew();
  links_.renew();
  if (!own_link_.empty()) {
    lead_to(own_link_, listener_.path());
  }
  return is_new;
}

}  // namespace muster::agent

#include "cli/edge/users_toml.h"

#include <utility>

#include <toml++/toml.h>

#include "cli/edge/config_file.h"
#include "cli/kit/text.h"
#include "scheduler/access/directory.h"

namespace muster::cli {
namespace {

/// A finding about one place of the file.
struct Misfit {
  toml::source_region region;
  std::string text;
};

[[noreturn]] void refuse(const toml::node& node, std::string text) {
  throw Misfit{node.source(), std::move(text)};
}

const toml::table& table_of(const toml::node& node, const std::string& name) {
  const auto* table = node.as_table();
  if (table == nullptr) {
    refuse(node, "'" + name + "' must be a table");
  }
  return *table;
}

std::string text_in(const toml::node& node, const std::string& key) {
  const auto* text = node.as_string();
  if (text == nullptr) {
    refuse(node, "'" + key + "' must be a string");
  }
  return text->get();
}

bool is_choice(const toml::node& node, const std::string& key, std::string_view yes,
               std::string_view no) {
  const std::string text = text_in(node, key);
  if (text != yes && text != no) {
    refuse(node, "'" + key + "' must be " + std::string(yes) + " or " + std::string(no));
  }
  return text == yes;
}

void read_access(const toml::table& table, UsersFile& file) {
  for (const auto& [key, node] : table) {
    if (key.str() == "unix-users") {
      file.are_logins_users = is_choice(node, "unix-users", "user", "none");
    } else if (key.str() == "jobs") {
      file.hides_other_teams = is_choice(node, "jobs", "team", "all");
    } else {
      refuse(node, "unknown key '" + std::string(key.str()) +
                       "' in [access]; the keys are: unix-users, jobs");
    }
  }
}

UsersFile::FileTeam team_of(const toml::table& table) {
  UsersFile::FileTeam team;
  for (const auto& [key, node] : table) {
    if (key.str() != "priority-max") {
      refuse(node,
             "unknown key '" + std::string(key.str()) + "' of a team; the key is: priority-max");
    }
    const auto* number = node.as_integer();
    if (number == nullptr || number->get() < INT32_MIN || number->get() > INT32_MAX) {
      refuse(node, "'priority-max' must be a whole number of 32 bits");
    }
    team.priority_max = static_cast<std::int32_t>(number->get());
  }
  return team;
}

std::vector<std::string> texts_in(const toml::node& node, const std::string& key) {
  const auto* array = node.as_array();
  if (array == nullptr) {
    refuse(node, "'" + key + "' must be a list of strings");
  }
  std::vector<std::string> texts;
  for (const toml::node& element : *array) {
    texts.push_back(text_in(element, key));
  }
  return texts;
}

std::vector<gossip::SshKeyLine> keys_in(const toml::node& node) {
  std::vector<gossip::SshKeyLine> keys;
  for (const std::string& text : texts_in(node, "keys")) {
    const auto line = gossip::ssh_key_of_line(text);
    if (!line) {
      refuse(node, line.error().text);
    }
    keys.push_back(*line);
  }
  if (keys.size() > scheduler::kKeysOfUserMax) {
    refuse(node, "a user has at most " + std::to_string(scheduler::kKeysOfUserMax) + " keys");
  }
  return keys;
}

UsersFile::FileUser user_of(const toml::table& table) {
  UsersFile::FileUser user;
  for (const auto& [key, node] : table) {
    if (key.str() == "role") {
      user.role = scheduler::role_of(text_in(node, "role"));
      if (!user.role.has_value()) {
        refuse(node, "'role' must be viewer, user, lead, operator or admin");
      }
    } else if (key.str() == "teams") {
      user.teams = texts_in(node, "teams");
    } else if (key.str() == "keys") {
      user.keys = keys_in(node);
    } else {
      refuse(node, "unknown key '" + std::string(key.str()) +
                       "' of a user; the keys are: role, teams, keys");
    }
  }
  return user;
}

UsersFile file_of(const toml::table& root) {
  UsersFile file;
  for (const auto& [key, node] : root) {
    const std::string name(key.str());
    const toml::table& table = table_of(node, name);
    if (name == "access") {
      read_access(table, file);
    } else if (name == "team") {
      for (const auto& [team, entry] : table) {
        file.teams.emplace(team.str(), team_of(table_of(entry, std::string(team.str()))));
      }
    } else if (name == "user") {
      for (const auto& [user, entry] : table) {
        file.users.emplace(user.str(), user_of(table_of(entry, std::string(user.str()))));
      }
    } else {
      refuse(node, "unknown table '" + name + "'; the tables are: access, team, user");
    }
  }
  return file;
}

Error misfit(const std::string& path, const toml::source_region& region, std::string_view text) {
  return {ErrorCode::kInvalid,
          path + ":" + std::to_string(region.begin.line) + ": " + std::string(text)};
}

}  // namespace

Result<UsersFile> parse_users_file(std::string_view text, const std::string& path) {
  try {
    return file_of(toml::parse(text));
  } catch (const toml::parse_error& error) {
    return misfit(path, error.source(), error.description());
  } catch (const Misfit& found) {
    return misfit(path, found.region, found.text);
  }
}

Result<UsersFile> read_users_file(const std::string& path) {
  const Result<std::string> text = read_text(path, kUsersFileBytesMax, "file of users");
  return text ? parse_users_file(*text, path) : Result<UsersFile>(text.error());
}

}  // namespace muster::cli

#include "cli/edge/config_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include <toml++/toml.h>

#include "cli/kit/text.h"

namespace muster::cli {
namespace {

std::optional<std::string> list_text(const toml::array& array) {
  std::vector<std::string> parts;
  for (const toml::node& element : array) {
    const auto part = element.value<std::string>();
    if (!element.is_string() || !part.has_value()) {
      return std::nullopt;
    }
    parts.push_back(*part);
  }
  return join(parts, ",");
}

/// nullopt if a setting cannot be of that type.
std::optional<std::string> value_text(const toml::node& node) {
  if (const auto* array = node.as_array()) {
    return list_text(*array);
  }
  if (const auto* flag = node.as_boolean()) {
    return flag->get() ? "true" : "false";
  }
  if (const auto* number = node.as_integer()) {
    return std::to_string(number->get());
  }
  if (const auto* text = node.as_string()) {
    return text->get();
  }
  return std::nullopt;
}

std::string place_of(const std::string& path, const toml::source_region& region) {
  return path + ":" + std::to_string(region.begin.line);
}

Error misfit(const std::string& place, std::string text) {
  return {ErrorCode::kInvalid, place + ": " + std::move(text)};
}

Result<Settings> settings_of(const toml::table& table, const std::string& path,
                             const std::vector<std::string>& known) {
  Settings settings;
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const std::string place = place_of(path, node.source());
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return misfit(place, "unknown setting '" + name + "'; the settings are: " + join(known));
    }
    const auto value = value_text(node);
    if (!value.has_value()) {
      return misfit(place, "'" + name +
                               "' must be a string, a whole number, true, false or a "
                               "list of strings");
    }
    settings[name] = *value;
  }
  return settings;
}

}  // namespace

Result<Settings> parse_config(std::string_view text, const std::string& path,
                              const std::vector<std::string>& known) {
  try {
    return settings_of(toml::parse(text), path, known);
  } catch (const toml::parse_error& error) {
    return misfit(place_of(path, error.source()), std::string(error.description()));
  }
}

Result<std::string> read_text(const std::string& path, std::size_t bytes_max,
                              const std::string& kind) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return Error{code, path + " cannot be read: " + std::strerror(errno)};
  }
  std::string text(bytes_max + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > bytes_max) {
    return misfit(path, "larger than " + std::to_string(bytes_max >> 20) + " MiB: not a " + kind);
  }
  return text;
}

Result<Settings> read_config_file(const std::string& path, const std::vector<std::string>& known) {
  const Result<std::string> text = read_text(path, kConfigBytesMax, "config file");
  return text ? parse_config(*text, path, known) : Result<Settings>(text.error());
}

}  // namespace muster::cli

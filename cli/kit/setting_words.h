#pragma once
// Every key of muster.toml in words: for its manual page and the sample file. agent_settings.h
// reads them; tests compare both.

#include <span>
#include <string>
#include <string_view>

namespace muster::cli {

struct SettingWords {
  std::string_view name;
  std::string_view value;      ///< As TOML writes it: the default, or an example.
  bool is_default = false;     ///< `value` is what counts without the key.
  std::string_view otherwise;  ///< In words, what counts without the key, where it is no value.
  std::string_view meaning;
};

std::span<const SettingWords> setting_words();
/// A muster.toml with every key commented out.
std::string sample_config();

}  // namespace muster::cli

#include "cli/kit/options.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/kit/duration.h"

namespace muster::cli {
namespace {

constexpr std::size_t kHelpColumn = 30;

template <class T>
bool read_whole(const std::string& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

Error no_number(const std::string& text) {
  const bool is_large = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return {ErrorCode::kInvalid,
          "'" + text + (is_large ? "' is too large a number" : "' is not a whole number")};
}

/// Words of `text` in lines, the following ones indented to the column of the help texts.
std::string wrapped(const std::string& text, std::size_t columns) {
  std::string lines;
  std::size_t column = kHelpColumn;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    const std::string word = text.substr(start, end - start);
    if (column + 1 + word.size() > columns) {
      lines += "\n" + std::string(kHelpColumn, ' ');
      column = kHelpColumn;
    } else if (!lines.empty()) {
      lines += " ";
      ++column;
    }
    lines += word;
    column += word.size();
    start = end + 1;
  }
  return lines;
}

std::string shown_default(const std::string& value) {
  return value.empty() ? "" : " (default " + value + ")";
}

}  // namespace

struct Options::Impl {
  explicit Impl(std::string purpose) : app(std::move(purpose)) {
    app.set_help_flag();
    app.add_flag("-h,--help", help_wanted, "");
  }

  void describe(std::string names, const std::string& value_name, const std::string& help) {
    know(names, !value_name.empty());
    if (const std::size_t comma = names.find(','); comma != std::string::npos) {
      names.insert(comma + 1, " ");
    }
    // Behind those of its kind, and --help stays the last.
    const auto place = is_common ? entries.end() - 1
                                 : std::find_if(entries.begin(), entries.end(),
                                                [](const auto& each) { return each.is_common; });
    entries.insert(place, {names + (value_name.empty() ? "" : " " + value_name), help, is_common});
  }

  static std::string line_of(const HelpEntry& entry, std::size_t columns) {
    std::string line = "  " + entry.head;
    line += line.size() + 2 > kHelpColumn ? "\n" + std::string(kHelpColumn, ' ')
                                          : std::string(kHelpColumn - line.size(), ' ');
    return line + wrapped(entry.help, columns) + "\n";
  }

  void know(const std::string& names, bool takes_value) {
    for (std::size_t start = 0; start < names.size();) {
      const std::size_t end = std::min(names.find(',', start), names.size());
      known[names.substr(start, end - start)] = takes_value;
      start = end + 1;
    }
  }

  /// Names the first option that is unknown or lacks its value; "" if there is no such option.
  std::string what_is_wrong(std::vector<std::string>::const_iterator arg,
                            std::vector<std::string>::const_iterator end) const;

  CLI::App app;
  std::span<const OptionHint> hints;
  /// Options by each of their names: whether a value follows.
  std::map<std::string, bool> known = {{"-h", false}, {"--help", false}};
  std::string usage;
  bool help_wanted = false;
  bool is_common = false;  ///< The options of all verbs are described now.
  std::vector<HelpEntry> entries = {{"-h, --help", "Print this help", true}};
  std::string example;
  std::string answered_by;
  std::vector<std::string>* command = nullptr;
};

std::string Options::Impl::what_is_wrong(std::vector<std::string>::const_iterator arg,
                                         std::vector<std::string>::const_iterator end) const {
  for (; arg != end; ++arg) {
    const bool is_long = arg->starts_with("--");
    if (arg->size() < 2 || (*arg)[0] != '-' ||
        std::isdigit(static_cast<unsigned char>((*arg)[1])) != 0 || *arg == "--") {
      continue;
    }
    const std::string name = is_long ? arg->substr(0, arg->find('=')) : arg->substr(0, 2);
    const auto option = known.find(name);
    if (option == known.end()) {
      const auto hint = std::find_if(hints.begin(), hints.end(),
                                     [&](const OptionHint& each) { return each.name == name; });
      return "there is no option " + name +
             (hint == hints.end() ? "" : ": " + std::string(hint->instead));
    }
    // "--name=value" and "-n5" bring theirs along.
    const bool is_apart = is_long ? arg->size() == name.size() : arg->size() == 2;
    if (option->second && is_apart && ++arg == end) {
      return name + " needs a value";
    }
  }
  return "";
}

Options::Options(std::string usage, std::string purpose)
    : impl_(std::make_unique<Impl>(std::move(purpose))) {
  impl_->usage = std::move(usage);
}

Options::~Options() = default;

void Options::flag(const std::string& names, bool& target, const std::string& help) {
  impl_->app.add_flag(names, target);
  impl_->describe(names, "", help);
}

void Options::value(const std::string& names, std::function<Status(const std::string&)> accept,
                    const std::string& help, const std::string& value_name) {
  const std::function<void(const std::string&)> store = [names, accept](const std::string& given) {
    const Status status = accept(given);
    if (!status) {
      throw CLI::ValidationError(names.substr(names.find("--")) + ": " + status.error().text);
    }
  };
  impl_->app.add_option_function<std::string>(names, store)
      ->type_name("value")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  impl_->describe(names, value_name, help);
}

void Options::values(const std::string& names, std::function<Status(const std::string&)> accept,
                     const std::string& help, const std::string& value_name) {
  const std::function<void(const std::vector<std::string>&)> store =
      [names, accept](const std::vector<std::string>& given) {
        for (const std::string& text : given) {
          if (const Status status = accept(text); !status) {
            throw CLI::ValidationError(names.substr(names.find("--")) + ": " + status.error().text);
          }
        }
      };
  impl_->app.add_option_function<std::vector<std::string>>(names, store)
      ->type_name("value")
      ->allow_extra_args(false);
  impl_->describe(names, value_name, help);
}

void Options::hints(std::span<const OptionHint> hints) {
  impl_->hints = hints;
}

void Options::text(const std::string& names, std::string& target, const std::string& help,
                   const std::string& value_name) {
  value(
      names,
      [&target](const std::string& given) {
        target = given;
        return ok();
      },
      help + shown_default(target), value_name);
}

void Options::number(const std::string& names, std::uint64_t& target, const std::string& help) {
  value(
      names,
      [&target](const std::string& given) -> Status {
        const auto parsed = parse_number(given);
        if (!parsed) {
          return parsed.error();
        }
        target = *parsed;
        return ok();
      },
      help + shown_default(std::to_string(target)), "N");
}

void Options::integer(const std::string& names, std::int64_t& target, const std::string& help) {
  value(
      names,
      [&target](const std::string& given) -> Status {
        const auto parsed = parse_integer(given);
        if (!parsed) {
          return parsed.error();
        }
        target = *parsed;
        return ok();
      },
      help + shown_default(std::to_string(target)), "N");
}

void Options::duration(const std::string& names, Duration& target, const std::string& help,
                       Duration least) {
  value(
      names,
      [&target, least](const std::string& given) -> Status {
        const auto parsed = parse_duration(given);
        if (!parsed) {
          return parsed.error();
        }
        if (*parsed < least) {
          return Error{ErrorCode::kInvalid,
                       "'" + given + "' is too short: at least " + format_duration(least)};
        }
        target = *parsed;
        return ok();
      },
      help + shown_default(target == Duration(0) ? "" : format_duration(target)), "DURATION");
}

void Options::list(const std::string& names, std::vector<std::string>& target,
                   const std::string& help, const std::string& value_name) {
  impl_->app.add_option(names, target)->type_name("value")->allow_extra_args(false);
  impl_->describe(names, value_name, help);
}

void Options::numbers(const std::string& name, std::vector<std::uint64_t>& target,
                      const std::string& help, std::size_t count_max) {
  const std::function<void(const std::vector<std::string>&)> store =
      [name, &target](const std::vector<std::string>& given) {
        for (const std::string& text : given) {
          const auto parsed = parse_number(text);
          if (!parsed) {
            throw CLI::ValidationError(name + ": " + parsed.error().text);
          }
          target.push_back(*parsed);
        }
      };
  impl_->app.add_option_function<std::vector<std::string>>(name, store)
      ->required()
      ->expected(1, static_cast<int>(count_max));
  impl_->describe(name, "", help);
}

void Options::words(const std::string& name, std::function<Status(const std::string&)> accept,
                    const std::string& help, std::size_t count_max) {
  const std::function<void(const std::vector<std::string>&)> store =
      [name, accept](const std::vector<std::string>& given) {
        for (const std::string& text : given) {
          if (const Status status = accept(text); !status) {
            throw CLI::ValidationError(name + ": " + status.error().text);
          }
        }
      };
  impl_->app.add_option_function<std::vector<std::string>>(name, store)
      ->expected(0, static_cast<int>(count_max));
  impl_->describe(name, "", help);
}

void Options::word(const std::string& name, std::string& target, const std::string& help,
                   bool is_required) {
  impl_->app.add_option(name, target)->required(is_required);
  impl_->describe(name, "", help);
}

void Options::common(bool are_common) {
  impl_->is_common = are_common;
}

void Options::command(std::vector<std::string>& target) {
  impl_->command = &target;
}

void Options::answered_by(std::string sentence) {
  impl_->answered_by = std::move(sentence);
}

void Options::example(std::string line) {
  impl_->example = std::move(line);
}

Result<bool> Options::parse(const std::vector<std::string>& args) {
  auto end = args.end();
  if (impl_->command != nullptr) {
    end = std::find(args.begin(), args.end(), "--");
    if (end != args.end()) {
      impl_->command->assign(end + 1, args.end());
    }
  }
  const bool wants_help =
      std::any_of(args.begin(), end, [](auto& a) { return a == "-h" || a == "--help"; });
  if (std::string wrong = impl_->what_is_wrong(args.begin(), end); !wrong.empty() && !wants_help) {
    const bool lacks_dashes = impl_->command != nullptr && end == args.end();
    return Error{ErrorCode::kInvalid,
                 wrong + (lacks_dashes ? "; put -- before the command and its arguments" : "")};
  }
  std::vector<std::string> reversed(args.begin(), end);
  std::reverse(reversed.begin(), reversed.end());  // CLI11 takes them from the back.
  // Asked for anywhere, help wins over whatever is missing beside it.
  if (wants_help) {
    return true;
  }
  try {
    impl_->app.parse(std::move(reversed));
  } catch (const CLI::ExtrasError&) {
    const std::string extra = "unexpected argument: " + join(impl_->app.remaining(), " ");
    const bool lacks_dashes = impl_->command != nullptr && end == args.end();
    return Error{ErrorCode::kInvalid,
                 extra + (lacks_dashes ? "; put -- before the command and its arguments" : "")};
  } catch (const CLI::ArgumentMismatch&) {
    return Error{ErrorCode::kInvalid, "too many arguments, or too few"};
  } catch (const CLI::RequiredError& error) {
    const std::string what = error.what();
    return Error{ErrorCode::kInvalid, what.substr(0, what.find(' ')) + " is missing"};
  } catch (const CLI::Error& error) {
    return Error{ErrorCode::kInvalid, error.what()};
  }
  return impl_->help_wanted;
}

std::vector<std::string> Options::names() const {
  std::vector<std::string> names;
  for (const auto& [name, takes_value] : impl_->known) {
    if (name.starts_with("-")) {
      names.push_back(name);
    }
  }
  return names;
}

std::string Options::help(const Screen& given) const {
  const Screen screen = for_reading(given);
  std::string text = fitted(impl_->app.get_description() + "\n\n", 0, screen);
  text += "Usage: muster " + impl_->usage + "\n";
  std::string_view heading;
  for (const HelpEntry& entry : impl_->entries) {
    const std::string_view own = entry.is_common ? "\nCommon options:\n" : "\n";
    text += heading == own ? "" : own;
    heading = own;
    text += Impl::line_of(entry, screen.columns);
  }
  if (!impl_->answered_by.empty()) {
    text += "\n" + fitted(impl_->answered_by + "\n", 2, screen);
  }
  if (!impl_->example.empty()) {
    text += "\nExample:\n  " + impl_->example + "\n";
  }
  return text;
}

const std::vector<HelpEntry>& Options::entries() const {
  return impl_->entries;
}

const std::string& Options::example() const {
  return impl_->example;
}

Result<std::uint64_t> parse_number(const std::string& text) {
  std::uint64_t value = 0;
  if (!read_whole(text, value)) {
    return no_number(text);
  }
  return value;
}

Result<std::int64_t> parse_integer(const std::string& text) {
  std::int64_t value = 0;
  if (!read_whole(text, value)) {
    return no_number(text);
  }
  return value;
}

}  // namespace muster::cli

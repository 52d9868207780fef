#pragma once
// Text for a terminal: made safe, cut to a width, put together.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster::cli {

/// Text of others (job names, causes, host names), made safe for a terminal: control characters
/// become '?', so that no name can move the cursor or forge a line.
std::string printable(std::string_view text);
/// The same for a text of several lines of ours.
std::string printable_lines(std::string_view text);

/// At most `columns` characters; a cut shows as a trailing '~' and never splits a UTF-8 sequence.
std::string truncate(std::string_view text, std::size_t columns);

/// Characters that a terminal shows, not bytes.
std::size_t columns_of(std::string_view text);

/// In lines of at most `columns`, broken at blanks; all but the first are indented. A word is
/// not broken.
std::string in_lines(std::string_view text, std::size_t columns, std::size_t indent = 2);
/// The columns that people see at once when nobody knows their number: screens and messages are
/// made for it.
inline constexpr std::size_t kScreenColumns = 100;

/// Where an answer goes.
struct Screen {
  std::size_t columns = kScreenColumns;  ///< 0 = a pipe or a file: of any width, nothing is cut.
  bool has_colour = false;
};

/// As wide as a person reads: of kScreenColumns at most, and in a pipe.
Screen for_reading(const Screen& screen);
/// Each line of a text that ends with a line break, within the columns of the screen.
std::string fitted(std::string_view text, std::size_t indent, const Screen& screen = {});
/// The name of a state as the screen shows it: what goes well green, what is to be looked at red,
/// what waits yellow. Words behind the first do not count.
std::string coloured_state(const std::string& state, const Screen& screen);

/// A name as programs say it, "agent_down", in words: "agent down". A text with a blank is kept.
std::string in_words(std::string name);

/// "a, b, c".
std::string join(const std::vector<std::string>& parts, std::string_view separator = ", ");

}  // namespace muster::cli

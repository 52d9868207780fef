#pragma once
// Strict reading of the JSON of a request. read_json() checks its form; JsonFields takes members by
// name and type, and refuses those that no rule takes. Errors name a member by its path, as
// "resources.gpus" or "moves[2].from".

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/api/rest/field_log.h"
#include "gossip/base/result.h"

namespace muster::agent {

inline constexpr std::size_t kJsonBytesMax = 1024 * 1024;
/// Objects and lists within each other.
inline constexpr std::size_t kJsonDepthMax = 16;
/// Objects, lists and plain values together.
inline constexpr std::size_t kJsonValuesMax = 65'536;

struct JsonValue {
  enum class Kind : std::uint8_t {
    kNull,
    kBoolean,
    kWhole,     ///< Not negative; in `whole`.
    kNegative,  ///< A whole number below 0; in `negative`.
    kFraction,  ///< Any other number.
    kText,
    kList,
    kObject,
  };
  using Member = std::pair<std::string, JsonValue>;

  Kind kind = Kind::kNull;
  bool boolean = false;
  std::uint64_t whole = 0;
  std::int64_t negative = 0;
  std::string text{};
  std::vector<JsonValue> items{};
  std::vector<Member> members{};  ///< In their order; each name once.
};

/// The one object that the text is. kInvalid: it is longer, deeper or has more values than the
/// limits above, is not UTF-8, is not JSON or no object, has bytes behind it, or an object in it
/// has a name twice.
Result<JsonValue> read_json(std::string_view body);

/// Members of one object. A member that is absent or null is nullopt; so is one that is wrong: the
/// first error of all objects of a document is kept, and end() of the outermost one returns it.
/// References to it and to its parts are valid as long as the outermost object is.
class JsonFields {
 public:
  using Texts = std::vector<std::string>;
  template <class T>
  using Named = std::vector<std::pair<std::string, T>>;

  /// `object` is of kObject; it and `log` outlive this. `log`: for tests, or null.
  explicit JsonFields(const JsonValue& object, FieldLog* log = nullptr);
  JsonFields(const JsonFields&) = delete;
  JsonFields& operator=(const JsonFields&) = delete;

  /// Whether the member is there, as anything but null. This alone does not take it.
  bool has(std::string_view name) const;
  /// Whether the member is there as null; then it is taken.
  bool is_null(std::string_view name);
  /// An absent or null member is an error.
  void need(std::string_view name);

  /// Without a zero byte.
  std::optional<std::string> text(std::string_view name);
  /// One of `allowed`; the error lists them.
  std::optional<std::string> choice(std::string_view name,
                                    const std::vector<std::string_view>& allowed);
  std::optional<std::uint64_t> number(std::string_view name, std::uint64_t min, std::uint64_t max);
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t min, std::int64_t max);
  std::optional<bool> boolean(std::string_view name);
  std::optional<Texts> texts(std::string_view name);
  std::optional<std::vector<std::uint64_t>> numbers(std::string_view name, std::uint64_t min,
                                                    std::uint64_t max);
  /// An object whose names are free: {"LANG": "C"}.
  std::optional<Named<std::string>> named_texts(std::string_view name);
  std::optional<Named<std::uint64_t>> named_numbers(std::string_view name, std::uint64_t min,
                                                    std::uint64_t max);
  /// Null without it. This object owns it, and end() looks at it as well.
  JsonFields* object(std::string_view name);
  std::vector<JsonFields*> objects(std::string_view name);
  /// An object whose names are free and whose members are objects.
  Named<JsonFields*> named_objects(std::string_view name);

  /// A rule of the caller: "'resources.gpus': " and `why`. Only the first error counts.
  void refuse(std::string_view name, const std::string& why);
  /// Whether there is no error so far.
  bool is_good() const;
  /// "resources.gpus"; long names are cut.
  std::string path_of(std::string_view name) const;

  /// kInvalid with the first error; without one, the first member that nobody took, with the
  /// nearest name that was asked for.
  Status end() const;

 private:
  using FirstError = std::shared_ptr<std::optional<std::string>>;

  JsonFields(const JsonValue& object, std::string path, FirstError error, FieldLog* log);

  const JsonValue* find(std::string_view name) const;
  /// Takes the member; null if it is absent or null.
  const JsonValue* take(std::string_view name);
  /// As take(); of another kind is an error: "gpus is no text".
  const JsonValue* take(std::string_view name, JsonValue::Kind kind);
  JsonFields* own(const JsonValue& object, const std::string& path);
  void log(std::string_view name, FieldKind kind, std::vector<std::string_view> allowed = {},
           std::uint64_t min = 0, std::uint64_t max = UINT64_MAX) const;
  void complain(const std::string& path, const std::string& why);
  std::optional<std::string> read_text(const JsonValue& value, const std::string& path);
  std::optional<std::uint64_t> read_number(const JsonValue& value, const std::string& path,
                                           std::uint64_t min, std::uint64_t max);
  /// "" if all members of this object and of those within it were taken.
  std::string untaken() const;

  const JsonValue& object_;
  std::string path_;  ///< "" = the outermost object.
  FirstError error_;
  FieldLog* log_;
  std::vector<std::string> asked_;  ///< Names that were taken, whether they are there or not.
  std::deque<std::unique_ptr<JsonFields>> parts_;
};

}  // namespace muster::agent
